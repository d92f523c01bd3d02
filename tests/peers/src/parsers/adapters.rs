//! Sluice behind the other projects' traits, fed with text as their own parsers are.

use std::sync::Arc;

use openai_protocol::common::{Function, Tool};
use sluice_symphony::Reader;

use super::{TOOL, parameters};
use crate::stream::Start;

fn load(format: &str) -> Option<Arc<Reader>> {
    crate::format(format)?;
    Some(Arc::new(Reader::load(format).expect("a shipped parser")))
}

pub(super) fn symphony(format: &str) -> Option<Start> {
    let reader = load(format)?;
    Some(Box::new(move |_| {
        let function = Function {
            name: TOOL.to_owned(),
            description: None,
            parameters: parameters(),
            strict: None,
            extra: Default::default(),
        };
        let tools = [Tool { tool_type: "function".to_owned(), function }];
        let parser = sluice_symphony::SymphonyParser::new(Arc::clone(&reader), &tools);
        Some(readers::symphony::read(Box::new(parser), ""))
    }))
}

pub(super) fn dynamo(format: &str) -> Option<Start> {
    let reader = load(format)?;
    Some(Box::new(move |_| {
        let tool = dynamo_parsers_v2::Tool {
            name: TOOL.to_owned(),
            description: None,
            parameters: parameters(),
            strict: None,
        };
        let parser = sluice_dynamo::DynamoParser::new(Arc::clone(&reader), &[tool]);
        Some(readers::dynamo_v2::read(Box::new(parser)))
    }))
}

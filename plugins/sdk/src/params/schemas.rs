//! The schemas of a request's functions, each read when the model first calls its tool, not before.

use std::rc::Rc;

use super::{ArgumentsWriter, Schema};
use crate::{Payload, Request};

/// Parameter schemas of one request's tools, by the tool's name.
#[derive(Debug)]
pub struct Schemas(Vec<(String, Source)>);

#[derive(Debug)]
enum Source {
    Text(String),
    Read(Rc<Schema>),
}

impl Schemas {
    /// Takes the schemas of a request's tools as text.
    pub fn new(request: &Request) -> Self {
        let source = |tool: &crate::Tool| (tool.name.clone(), Source::Text(tool.parameters_json.clone()));
        Self(request.tools.iter().map(source).collect())
    }

    /// Writer of the arguments of a call of `name`. A tool that isn't declared has no schema.
    pub fn arguments(&mut self, name: &str, payload: Payload) -> ArgumentsWriter {
        let schema = if payload == Payload::Json { self.schema(name) } else { None };
        ArgumentsWriter::new(schema.unwrap_or_default(), payload)
    }

    fn schema(&mut self, name: &str) -> Option<Rc<Schema>> {
        let (_, source) = self.0.iter_mut().find(|(declared, _)| declared == name)?;
        if let Source::Text(text) = source {
            *source = Source::Read(Rc::new(Schema::parse(text)));
        }
        match source {
            Source::Read(schema) => Some(Rc::clone(schema)),
            Source::Text(_) => None,
        }
    }
}

//! Outputs read through Dynamo's trait, and what is seen of them.

use std::sync::Arc;

use dynamo_parsers_v2::{Tool, UnifiedParser, UnifiedParserEvent, UnifiedParserInit, UnifiedParserOutput};
use gateway_tests::{Output, Seen, Token, groups, pieces, push, texts};
use sluice_dynamo::DynamoParser;

/// Tools as Dynamo has them.
pub(crate) fn tools(tools: &[gateway_tests::Tool]) -> Vec<Tool> {
    let tool = |tool: &gateway_tests::Tool| Tool {
        name: tool.name.clone(),
        description: None,
        parameters: tool.parameters.clone(),
        strict: None,
    };
    tools.iter().map(tool).collect()
}

/// A parser of the case, told of the prompt.
pub(crate) fn started(output: &Output) -> DynamoParser {
    let mut parser = DynamoParser::new(Arc::clone(&output.reader), &tools(&output.tools));
    let init = UnifiedParserInit { prompt_token_ids: ids(&output.opening), ..UnifiedParserInit::default() };
    parser.initialize_request(init).unwrap_or_else(|error| panic!("{}: {error}", output.name));
    parser
}

pub(crate) fn ids(tokens: &[Token]) -> Vec<u32> {
    tokens.iter().map(|token| token.id).collect()
}

/// Feeds text in pieces.
pub(crate) fn feed(parser: &mut dyn UnifiedParser, text: &str, seed: u64, output: &mut UnifiedParserOutput) {
    for piece in pieces(text, seed) {
        parser.parse_into(&piece, output).expect("text");
    }
}

/// Ends the output as the case does.
pub(crate) fn end(parser: &mut dyn UnifiedParser, is_whole: bool, output: &mut UnifiedParserOutput) {
    let last = if is_whole { parser.finish_at_eos() } else { parser.finish() };
    output.append(&mut last.expect("the end"));
}

/// Reads a case's text, cut as the seed says.
pub(crate) fn by_text(case: &Output, seed: u64) -> Vec<Seen> {
    let (mut parser, mut output) = (started(case), UnifiedParserOutput::default());
    feed(&mut parser, &texts(&case.output), seed, &mut output);
    end(&mut parser, case.is_whole, &mut output);
    seen(&output.events)
}

/// Reads a case's token ids, cut as the seed says.
pub(crate) fn by_tokens(case: &Output, seed: u64) -> Vec<Seen> {
    let (mut parser, mut output) = (started(case), UnifiedParserOutput::default());
    for group in groups(&case.output, 9, seed) {
        parser.parse_token_ids_into(&ids(group), &mut output).expect("token ids");
    }
    end(&mut parser, case.is_whole, &mut output);
    seen(&output.events)
}

/// What is seen of events. Each call has its name first, and nothing behind its end.
pub(crate) fn seen(events: &[UnifiedParserEvent]) -> Vec<Seen> {
    let (mut all, mut calls) = (Vec::new(), Vec::<usize>::new());
    for event in events {
        match event {
            UnifiedParserEvent::Text(text) => push(&mut all, Seen::Text(text.clone())),
            UnifiedParserEvent::Reasoning(text) => push(&mut all, Seen::Reasoning(text.clone())),
            UnifiedParserEvent::ToolCall(call) => {
                if let Some(name) = &call.name {
                    assert_eq!(call.tool_index, calls.len(), "calls are counted");
                    calls.push(all.len());
                    let arguments = String::new();
                    all.push(Seen::Call { name: name.clone(), arguments, complete: false });
                }
                let Seen::Call { arguments, complete, .. } = &mut all[calls[call.tool_index]] else {
                    panic!("no call")
                };
                assert!(!*complete, "nothing behind a call's end");
                arguments.push_str(&call.arguments);
                *complete = call.complete;
            }
            _ => {}
        }
    }
    all
}

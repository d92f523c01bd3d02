//! `dynamo-parsers-v2`: its unified parsers (reasoning, text and calls in one), by the name of the parser of calls. For Harmony it reads token
//! ids.

use dynamo_parsers_v2::{
    Tool, UnifiedParser, UnifiedParserEvent, UnifiedParserInit, UnifiedParserOutput,
    UnifiedParserStartingState, create_unified_parser_for_family,
};

use crate::{Delta, Names, Opening, Request, Sink, Stream, harmony};

/// Starts a stream of the family.
pub(crate) fn start(names: &Names, request: &Request) -> Option<Box<dyn Stream>> {
    if harmony::is_harmony(names) && !harmony::available() {
        return None;
    }
    let tool = |tool: &crate::Tool| Tool {
        name: tool.name.clone(),
        description: None,
        parameters: tool.parameters.clone(),
        strict: None,
    };
    let tools: Vec<Tool> = request.tools.iter().map(tool).collect();
    let mut parser = create_unified_parser_for_family(names.calls.as_deref()?, &tools).ok()?;
    let starting_state = match request.opening {
        Opening::Nothing => UnifiedParserStartingState::None,
        Opening::Reasoning => UnifiedParserStartingState::Reasoning,
        Opening::Answer => UnifiedParserStartingState::Response,
    };
    let init = UnifiedParserInit { starting_state, ..UnifiedParserInit::default() };
    parser.initialize_request(init).expect("its own settings");
    Some(read(parser))
}

/// Reads with any parser of its trait.
#[must_use]
pub fn read(parser: Box<dyn UnifiedParser>) -> Box<dyn Stream> {
    Box::new(Dynamo { parser })
}

struct Dynamo {
    parser: Box<dyn UnifiedParser>,
}

fn hand_on(output: UnifiedParserOutput, sink: &mut dyn Sink) {
    for event in output.events {
        match event {
            UnifiedParserEvent::Text(text) => sink.content(&text),
            UnifiedParserEvent::Reasoning(text) => sink.reasoning(&text),
            UnifiedParserEvent::ToolCall(call) => {
                if let Some(name) = &call.name {
                    sink.call(call.tool_index, name);
                }
                sink.arguments(call.tool_index, &call.arguments);
            }
            _ => {}
        }
    }
}

impl Stream for Dynamo {
    fn feed(&mut self, delta: &Delta<'_>, sink: &mut dyn Sink) {
        let mut output = UnifiedParserOutput::default();
        let read = if delta.tokens.is_empty() {
            self.parser.parse_into(delta.text, &mut output)
        } else {
            self.parser.parse_token_ids_into(&delta.tokens, &mut output)
        };
        // Output before an error is kept; the checks find what an error loses.
        let _ = read;
        hand_on(output, sink);
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        hand_on(self.parser.finish().unwrap_or_default(), sink);
    }
}

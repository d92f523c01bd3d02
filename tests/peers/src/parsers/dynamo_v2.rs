//! `dynamo-parsers-v2`: its unified parsers (reasoning, text and calls in one). For Harmony it
//! reads token ids.

use dynamo_parsers_v2::{
    Tool, UnifiedParser, UnifiedParserEvent, UnifiedParserInit, UnifiedParserOutput,
    UnifiedParserStartingState, create_unified_parser_for_family,
};

use super::{TOOL, harmony, parameters};
use crate::stream::{Cut, Delta, Sink, Start, Stream};

pub(super) fn start(format: &str) -> Option<Start> {
    let family = match format {
        "qwen3-coder" => "qwen3_coder",
        "kimi-k2" => "kimi_k2",
        "harmony" if harmony::available() => "gpt_oss",
        _ => return None,
    };
    let tool = Tool { name: TOOL.to_owned(), description: None, parameters: parameters(), strict: None };
    Some(Box::new(move |cut| {
        let mut parser =
            create_unified_parser_for_family(family, std::slice::from_ref(&tool)).expect("its own name");
        // A stream that is measured has no reasoning; one that is checked begins with the marker of
        // reasoning.
        let answering = family != "gpt_oss" && cut == Cut::Tokens;
        let init = UnifiedParserInit {
            starting_state: if answering {
                UnifiedParserStartingState::Response
            } else {
                UnifiedParserStartingState::None
            },
            ..UnifiedParserInit::default()
        };
        parser.initialize_request(init).expect("its own settings");
        Some(Box::new(Dynamo { parser }))
    }))
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

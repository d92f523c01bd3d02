//! `reasoning-parser`, and `tool-parser` on the remaining text, without the pools and locks of the
//! gateway to which they belong.

use futures::FutureExt;
use openai_protocol::common::{Function, Tool};
use reasoning_parser::{ParserFactory as Reasonings, ReasoningParser};
use tool_parser::types::ToolCallItem;
use tool_parser::{ParserFactory as Tools, ToolParser};

use super::{TOOL, parameters};
use crate::stream::{Delta, Sink, Start, Stream};

pub(super) fn start(format: &str) -> Option<Start> {
    let (reasoning, tool) = match format {
        "qwen3" => ("qwen3", "qwen"),
        "qwen3-coder" => ("qwen3", "qwen_coder"),
        "kimi-k2" => ("kimi_k25", "kimik2"),
        _ => return None,
    };
    let (reasonings, tools) = (Reasonings::new(), Tools::new());
    let declared = vec![declared()];
    Some(Box::new(move |_| {
        Some(Box::new(Smg {
            reasoning: reasonings.registry().create_parser(reasoning).expect("its own name"),
            tool: tools.registry().create_parser(tool).expect("its own name"),
            declared: declared.clone(),
        }))
    }))
}

/// The tool as a request declares it.
pub(super) fn declared() -> Tool {
    let function = Function {
        name: TOOL.to_owned(),
        description: None,
        parameters: parameters(),
        strict: None,
        extra: serde_json::Map::new(),
    };
    Tool { tool_type: "function".to_owned(), function }
}

struct Smg {
    reasoning: Box<dyn ReasoningParser>,
    tool: Box<dyn ToolParser>,
    declared: Vec<Tool>,
}

impl Smg {
    fn text(&mut self, text: &str, sink: &mut dyn Sink) {
        if text.is_empty() {
            return;
        }
        let parsed = self.tool.parse_incremental(text, &self.declared).now_or_never();
        // An error drops the delta, as it does in the gateway.
        let Ok(parsed) = parsed.expect("it waits for nothing") else { return };
        sink.content(&parsed.normal_text);
        calls(parsed.calls, sink);
    }
}

fn calls(items: Vec<ToolCallItem>, sink: &mut dyn Sink) {
    for item in items {
        if let Some(name) = &item.name {
            sink.call(item.tool_index, name);
        }
        sink.arguments(item.tool_index, &item.parameters);
    }
}

impl Stream for Smg {
    fn feed(&mut self, delta: &Delta<'_>, sink: &mut dyn Sink) {
        let parsed =
            self.reasoning.parse_reasoning_streaming_incremental(delta.text).expect("below its limit");
        sink.reasoning(&parsed.reasoning_text);
        self.text(&parsed.normal_text, sink);
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        let parsed = self.reasoning.flush().expect("below its limit");
        sink.reasoning(&parsed.reasoning_text);
        self.text(&parsed.normal_text, sink);
        sink.content(&self.tool.take_unstreamed_normal_text());
        calls(self.tool.get_unstreamed_tool_args().unwrap_or_default(), sink);
    }
}

//! `reasoning-parser`, and `tool-parser` on the remaining text, without the pools and locks of the gateway to which they belong.

use futures::FutureExt;
use openai_protocol::common::{Function, Tool};
use reasoning_parser::{ParserFactory as Reasonings, ParserResult, ReasoningParser};
use tool_parser::types::ToolCallItem;
use tool_parser::{ParserFactory as Tools, ToolParser};

use crate::{Delta, Names, Opening, Request, Sink, Stream};

/// Starts a stream through both parsers, or one of them.
pub(crate) fn start(names: &Names, request: &Request) -> Option<Box<dyn Stream>> {
    let (reasonings, tools) = (Reasonings::new(), Tools::new());
    let mut reasoning =
        reasonings.registry().create_parser(names.reasoning.as_deref().unwrap_or("passthrough"))?;
    if request.opening == Opening::Reasoning {
        reasoning.mark_reasoning_started();
        reasoning.mark_think_start_stripped();
    }
    let tool = tools.registry().create_parser(names.calls.as_deref().unwrap_or("passthrough"))?;
    Some(Box::new(Smg { reasoning, tool, declared: declared(request) }))
}

/// The tools as a request declares them.
pub(crate) fn declared(request: &Request) -> Vec<Tool> {
    let function = |tool: &crate::Tool| Function {
        name: tool.name.clone(),
        description: None,
        parameters: tool.parameters.clone(),
        strict: None,
        extra: serde_json::Map::new(),
    };
    request
        .tools
        .iter()
        .map(|tool| Tool { tool_type: "function".to_owned(), function: function(tool) })
        .collect()
}

struct Smg {
    reasoning: Box<dyn ReasoningParser>,
    tool: Box<dyn ToolParser>,
    declared: Vec<Tool>,
}

impl Smg {
    fn parsed(&mut self, parsed: &ParserResult, sink: &mut dyn Sink) {
        sink.reasoning(&parsed.reasoning_text);
        if parsed.normal_text.is_empty() {
            return;
        }
        let parsed = self.tool.parse_incremental(&parsed.normal_text, &self.declared).now_or_never();
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
        self.parsed(&parsed, sink);
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        let parsed = self.reasoning.flush().expect("below its limit");
        self.parsed(&parsed, sink);
        sink.content(&self.tool.take_unstreamed_normal_text());
        calls(self.tool.get_unstreamed_tool_args().unwrap_or_default(), sink);
    }

    fn whole(&mut self, deltas: &[Delta<'_>], sink: &mut dyn Sink) {
        let text: String = deltas.iter().map(|delta| delta.text).collect();
        let parsed = self.reasoning.detect_and_parse_reasoning(&text).expect("below its limit");
        sink.reasoning(&parsed.reasoning_text);
        let found = self.tool.parse_complete_with_tools(&parsed.normal_text, &self.declared).now_or_never();
        // An error leaves the text as it is, as it does in the gateway.
        let (text, found) = found.expect("it waits for nothing").unwrap_or((parsed.normal_text, Vec::new()));
        sink.content(&text);
        for (index, call) in found.into_iter().enumerate() {
            sink.call(index, &call.function.name);
            sink.arguments(index, &call.function.arguments);
        }
    }
}

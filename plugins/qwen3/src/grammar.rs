//! The grammar of a constrained turn: `<think>…</think>`, then a message or `<tool_call>` blocks.

use parser_sdk::Request;
use parser_sdk::grammar::{Lark, Markers, Turn, named_json};

use crate::{CALL, CALL_END, MARKERS, THINK, THINK_END, TURN};

/// Grammar that `constrain` returns; `None` where the request leaves the model free.
pub(crate) fn of(request: &Request) -> Result<Option<String>, String> {
    let Some(turn) = Turn::of(request)? else { return Ok(None) };
    let mut lark = Lark::new(&MARKERS, Markers::Any(&request.token_markers))?;
    let calls = turn.any_tool(|tool| named_json(&tool.tool.name, "arguments", &tool.arguments))?;
    let (open, close) = (lark.marker(CALL), lark.marker(CALL_END));
    lark.rule("call", &format!("{open} gap? ({calls}) gap? {close}"));
    let think = format!("{} text {}", lark.marker(THINK), lark.marker(THINK_END));
    let opening = format!("{} \"assistant\\n\"", lark.marker(TURN));
    turn.grammar(lark, &opening, &think, &turn.calls("call")).map(Some)
}

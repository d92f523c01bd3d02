//! The grammar of a constrained turn: `[THINK]…[/THINK]`, then a message or calls, each `[TOOL_CALLS]NAME[ARGS]{…}`.
//!
//! The parser also reads lists of calls, which older models write; the grammar doesn't allow them.

use parser_sdk::Request;
use parser_sdk::grammar::{Lark, Markers, Turn, literal};

use crate::{ARGUMENTS, CALL, MARKERS, THINK, THINK_END};

/// Longest name of a tool, in bytes.
const NAME: usize = 128;

/// Grammar that `constrain` returns; `None` where the request leaves the model free.
pub(crate) fn of(request: &Request) -> Result<Option<String>, String> {
    let Some(turn) = Turn::of(request)? else { return Ok(None) };
    let mut lark = Lark::new(&MARKERS, Markers::Any(&request.token_markers))?;
    let arguments = lark.marker(ARGUMENTS);
    let calls = turn.any_tool(|tool| {
        let name = tool.name_without(NAME, |char| char.is_whitespace() || "{[".contains(char))?;
        Ok(format!("{} {arguments} {}", literal(name), tool.arguments.json()))
    })?;
    lark.rule("call", &format!("{} ({calls})", lark.marker(CALL)));
    let think = format!("{} text {}", lark.marker(THINK), lark.marker(THINK_END));
    turn.grammar(lark, &literal(""), &think, &turn.calls("call")).map(Some)
}

//! The grammar of a constrained turn: bare JSON calls, or a message that doesn't begin like one.

use parser_sdk::Request;
use parser_sdk::grammar::{Callable, Lark, Markers, Turn, named_json};

use crate::{HEADER, MARKERS};

const HEADER_END: usize = 4;
/// Longest name of a tool, in bytes. The parser holds an object that may be a call while it reads the name.
const NAME: usize = 64;

/// Grammar that `constrain` returns; `None` where the request leaves the model free. A JSON response can't be told from a call, so a
/// request that prescribes the response and declares tools is refused.
pub(crate) fn of(request: &Request) -> Result<Option<String>, String> {
    let Some(turn) = Turn::of(request)? else { return Ok(None) };
    let mut lark = Lark::new(&MARKERS, Markers::Any(&request.token_markers))?;
    lark.rule("call", &turn.any_tool(call)?);
    lark.rule("calls", if turn.several { "call (\"; \" call)*" } else { "call" });
    lark.rule("OPENING", r"/[ \n\r\t]*[^<{\[ \n\r\t]/");
    let body = match turn.answer(&lark)? {
        None if turn.is_demanded() => "gap? calls".to_owned(),
        None => "(gap? calls | OPENING text)".to_owned(),
        Some(json) if turn.tools.is_empty() => format!("gap? {json} gap?"),
        Some(_) => return Err("in this format a message of JSON beside tools looks like a call".into()),
    };
    let (begin, end) = (lark.marker(HEADER), lark.marker(HEADER_END));
    Ok(Some(lark.start(&format!("({begin} \"assistant\" {end} gap?)? {body}"))))
}

fn call(tool: &Callable<'_>) -> Result<String, String> {
    let name = tool.name_without(NAME, |char| char.is_control() || "\"\\".contains(char))?;
    named_json(name, "parameters", &tool.arguments)
}

//! The grammar of a constrained turn: `<think>…</think>`, then a message or calls written as XML.
//!
//! A raw value ends at the first `</parameter>`. The newline before that tag is part of the parser's marker, but part of the text in this
//! grammar. A custom tool's input, which follows the tool's own grammar, stands between two newlines of the format, as templates write it.

use parser_sdk::Request;
use parser_sdk::grammar::{Callable, Lark, Markers, Spelling, Turn, Value, literal, parameters};
use parser_sdk::params::Tag;

use crate::{CALL, CALL_END, FUNCTION, MARKERS, THINK, THINK_END, TURN, TURN_END};

const FUNCTION_END: usize = 7;
const PARAMETER: usize = 8;
const PARAMETER_END: usize = 9;
const LINE_AND_PARAMETER_END: usize = 12;
/// Markers that a raw value must not contain.
const AROUND_VALUES: [usize; 7] =
    [CALL, CALL_END, FUNCTION, FUNCTION_END, PARAMETER, PARAMETER_END, TURN_END];

/// Grammar that `constrain` returns; `None` where the request leaves the model free.
pub(crate) fn of(request: &Request) -> Result<Option<String>, String> {
    let Some(turn) = Turn::with_inputs(request)? else { return Ok(None) };
    let mut lark = Lark::new(&MARKERS, Markers::Any(&request.token_markers))?;
    lark.text("value", AROUND_VALUES)?;
    turn.inputs().try_for_each(|input| lark.input_before(input, LINE_AND_PARAMETER_END, &AROUND_VALUES))?;
    let functions = turn.any_tool(|tool| function(&lark, tool))?;
    let (open, close) = (lark.marker(CALL), lark.marker(CALL_END));
    lark.rule("call", &format!("{open} gap? ({functions}) gap? {close}"));
    let think = format!("{} text {}", lark.marker(THINK), lark.marker(THINK_END));
    let opening = format!("{} \"assistant\\n\"", lark.marker(TURN));
    turn.grammar(lark, &opening, &think, &turn.calls("call")).map(Some)
}

fn function(lark: &Lark, tool: &Callable<'_>) -> Result<String, String> {
    let name = tool.name_without(Tag::LONGEST, |char| char.is_whitespace() || "<>".contains(char))?;
    let write = |key: &str, value: &Value<'_>| {
        let end = lark.marker(PARAMETER_END);
        let value = match value {
            Value::Text(rule) => format!("{rule} {end}"),
            Value::Exactly(text) | Value::Json(text) => format!("{text} \"\\n\" {end}"),
            Value::Input(rule) => (*rule).to_owned(),
        };
        format!("{} {key} \">\\n\" {value} gap?", lark.marker(PARAMETER))
    };
    let spelling = Spelling { text: "value", markers: &AROUND_VALUES, write: &write };
    let parameters = parameters(lark, tool, &spelling)?;
    let head = format!("{} {}", lark.marker(FUNCTION), literal(&format!("{name}>")));
    Ok(format!("{head} gap? {parameters} {}", lark.marker(FUNCTION_END)))
}

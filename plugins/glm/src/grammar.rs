//! The grammar of a constrained turn: `<think>…</think>`, then a message or calls written as keys and values.

use parser_sdk::Request;
use parser_sdk::grammar::{Callable, Lark, Markers, Spelling, Turn, Value, literal, parameters};

use crate::{CALL, CALL_END, MARKERS, NAME, THINK, THINK_END};

const KEY: usize = 4;
const KEY_END: usize = 5;
const VALUE: usize = 6;
const VALUE_END: usize = 7;
const TURN: usize = 8;
/// Markers that a raw value must not contain: those around values, and those that may follow the turn.
const AROUND_VALUES: [usize; 10] = [CALL, CALL_END, KEY, KEY_END, VALUE, VALUE_END, 9, 10, 11, 12];

/// Grammar that `constrain` returns; `None` where the request leaves the model free.
pub(crate) fn of(request: &Request) -> Result<Option<String>, String> {
    let Some(turn) = Turn::with_inputs(request)? else { return Ok(None) };
    // The lexer can tell a custom tool's input from the marker behind it only if that is a token. Then no text spells a marker.
    let markers =
        if turn.inputs().next().is_none() { Markers::Any(&request.token_markers) } else { Markers::Tokens };
    let mut lark = Lark::new(&MARKERS, markers)?;
    lark.text("value", AROUND_VALUES)?;
    turn.inputs().for_each(|input| lark.input(input));
    let calls = turn.any_tool(|tool| call(&lark, tool))?;
    let (open, close, opening) = (lark.marker(CALL), lark.marker(CALL_END), lark.marker(TURN));
    lark.rule("call", &format!("{open} ({calls}) {close}"));
    let think = format!("{} text {}", lark.marker(THINK), lark.marker(THINK_END));
    turn.grammar(lark, &opening, &think, &turn.calls("call")).map(Some)
}

fn call(lark: &Lark, tool: &Callable<'_>) -> Result<String, String> {
    let name = tool.name_without(NAME, |char| char.is_whitespace() || "<>".contains(char))?;
    let write = |key: &str, value: &Value<'_>| {
        let value = match value {
            Value::Text(rule) | Value::Input(rule) => (*rule).to_owned(),
            Value::Exactly(text) | Value::Json(text) => text.clone(),
        };
        let (begin, end) = (lark.marker(KEY), lark.marker(KEY_END));
        format!("{begin} {key} {end} gap? {} {value} {} gap?", lark.marker(VALUE), lark.marker(VALUE_END))
    };
    let spelling = Spelling { text: "value", markers: &AROUND_VALUES, write: &write };
    Ok(format!("{} gap? {}", literal(name), parameters(lark, tool, &spelling)?))
}

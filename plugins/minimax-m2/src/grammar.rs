//! The grammar of a constrained turn: `<think>…</think>`, then a message or one block of calls written as XML.
//!
//! A raw value ends at the first `</parameter>`.

use parser_sdk::Request;
use parser_sdk::grammar::{Callable, Lark, Markers, Spelling, Turn, Value, literal, parameters};
use parser_sdk::params::{Format, Tag};

use crate::{
    BLOCK, BLOCK_END, CALL, CALL_END, MiniMax, PARAMETER, PARAMETER_END, THINK, THINK_END, TURN, TURN_END,
};

/// Markers that a raw value must not contain.
const AROUND_VALUES: [usize; 7] = [BLOCK, BLOCK_END, CALL, CALL_END, PARAMETER, PARAMETER_END, TURN_END];

/// Grammar that `constrain` returns; `None` where the request leaves the model free.
pub(crate) fn of(request: &Request) -> Result<Option<String>, String> {
    let Some(turn) = Turn::with_inputs(request)? else { return Ok(None) };
    let markers: Vec<_> = MiniMax::PARTS.iter().map(|(literal, _)| *literal).collect();
    let mut lark = Lark::new(&markers, Markers::Any(&request.token_markers))?;
    lark.text("value", AROUND_VALUES)?;
    turn.inputs().try_for_each(|input| lark.input_before(input, PARAMETER_END, &AROUND_VALUES))?;
    let invokes = turn.any_tool(|tool| invoke(&lark, tool))?;
    lark.rule("call", &format!("({invokes})"));
    let (open, close) = (lark.marker(BLOCK), lark.marker(BLOCK_END));
    let think = format!("{} text {}", lark.marker(THINK), lark.marker(THINK_END));
    let opening = format!("{} \"ai\\n\"", lark.marker(TURN));
    let block = format!("{open} gap? {} gap? {close}", turn.calls("call"));
    turn.grammar(lark, &opening, &think, &block).map(Some)
}

fn invoke(lark: &Lark, tool: &Callable<'_>) -> Result<String, String> {
    let name = tool.name_without(Tag::LONGEST, |char| char.is_whitespace() || "<>\"'".contains(char))?;
    let write = |key: &str, value: &Value<'_>| {
        let end = lark.marker(PARAMETER_END);
        let value = match value {
            Value::Text(rule) => format!("{rule} {end}"),
            Value::Exactly(text) | Value::Json(text) => format!("{text} {end}"),
            Value::Input(rule) => (*rule).to_owned(),
        };
        format!("{} \"\\\"\" {key} \"\\\">\" {value} gap?", lark.marker(PARAMETER))
    };
    let spelling = Spelling { text: "value", markers: &AROUND_VALUES, write: &write };
    let parameters = parameters(lark, tool, &spelling)?;
    let head = literal(&format!("\"{name}\">"));
    Ok(format!("{} {head} gap? {parameters} {}", lark.marker(CALL), lark.marker(CALL_END)))
}

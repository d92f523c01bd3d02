//! Coverage: the kinds of turns that a parser meets and that no case shows. They fail nothing, since
//! a format needn't have them all; a parser is judged by its cases alone, so what they leave out is
//! said.

use parser_kit::case::{CaseItem, CasePayload, CaseStatus};
use serde_json::{Map, Value};

use super::recording::Recording;
use contract::FinishReason;

/// A kind of turn, and whether a recording is of it.
type Kind = (&'static str, fn(&Recording) -> bool);

/// The kinds, in the order of the report.
const KINDS: &[Kind] = &[
    ("text alone", |turn| matches!(turn.expected[..], [CaseItem::Message { .. }])),
    ("reasoning before an answer", |turn| has_pair(turn, is_reasoning, is_message)),
    ("reasoning before a call", |turn| has_pair(turn, is_reasoning, is_call)),
    ("reasoning that the prompt opens", |turn| {
        !turn.prompt.text().is_empty() && turn.expected.iter().any(is_reasoning)
    }),
    ("text before a call", |turn| has_pair(turn, is_message, is_call)),
    ("text behind a call", |turn| has_pair(turn, is_call, is_message)),
    ("two calls", |turn| has_pair(turn, is_call, is_call)),
    ("a call without arguments", |turn| calls(turn).any(|arguments| arguments.is_empty())),
    ("an argument that is an object or a list", |turn| {
        calls(turn).any(|arguments| arguments.values().any(|value| value.is_object() || value.is_array()))
    }),
    ("an argument with quotes and line ends", |turn| {
        let is_awkward =
            |value: &Value| value.as_str().is_some_and(|text| text.contains('"') && text.contains('\n'));
        calls(turn).any(|arguments| arguments.values().any(is_awkward))
    }),
    ("an argument with a marker in it", |turn| {
        calls(turn).any(|arguments| arguments.values().any(|value| has_marker(turn, value)))
    }),
    ("a custom tool's text", |turn| turn.expected.iter().any(is_text_call)),
    ("a call of an undeclared tool", |turn| {
        names(turn).any(|name| !turn.request.tools.iter().any(|tool| tool.name == name))
    }),
    ("reasoning that is cut off", |turn| is_cut(turn) && turn.expected.last().is_some_and(is_reasoning)),
    ("a call that is cut off", |turn| is_cut(turn) && turn.expected.last().is_some_and(is_incomplete_call)),
    ("a call that breaks off", |turn| {
        turn.finish == FinishReason::Stop && turn.expected.iter().any(is_incomplete_call)
    }),
    ("markup in prose", |turn| {
        turn.expected
            .iter()
            .any(|item| matches!(item, CaseItem::Message { text, .. } if has_literal(turn, text)))
    }),
];

/// The kinds of turns that none of these cases shows.
pub(super) fn uncovered(recordings: &[Recording]) -> Vec<&'static str> {
    let is_shown = |(_, is): &&Kind| recordings.iter().any(is);
    KINDS.iter().filter(|kind| !is_shown(kind)).map(|(name, _)| *name).collect()
}

/// Whether an item of the first kind comes directly before one of the second.
fn has_pair(turn: &Recording, first: fn(&CaseItem) -> bool, second: fn(&CaseItem) -> bool) -> bool {
    turn.expected.windows(2).any(|pair| first(&pair[0]) && second(&pair[1]))
}

fn is_reasoning(item: &CaseItem) -> bool {
    matches!(item, CaseItem::Reasoning { .. })
}

fn is_message(item: &CaseItem) -> bool {
    matches!(item, CaseItem::Message { .. })
}

fn is_call(item: &CaseItem) -> bool {
    matches!(item, CaseItem::ToolCall { .. })
}

fn is_text_call(item: &CaseItem) -> bool {
    matches!(item, CaseItem::ToolCall { payload: CasePayload::Text, .. })
}

fn is_incomplete_call(item: &CaseItem) -> bool {
    matches!(item, CaseItem::ToolCall { status: CaseStatus::Incomplete, .. })
}

fn is_cut(turn: &Recording) -> bool {
    turn.finish == FinishReason::Length
}

/// The arguments of each whole call with JSON.
fn calls(turn: &Recording) -> impl Iterator<Item = Map<String, Value>> {
    turn.expected.iter().filter_map(|item| match item {
        CaseItem::ToolCall { arguments, .. } => serde_json::from_str(arguments).ok(),
        _ => None,
    })
}

fn names(turn: &Recording) -> impl Iterator<Item = &str> {
    turn.expected.iter().filter_map(|item| match item {
        CaseItem::ToolCall { name, .. } => Some(name.as_str()),
        _ => None,
    })
}

fn has_marker(turn: &Recording, value: &Value) -> bool {
    value.as_str().is_some_and(|text| has_literal(turn, text))
}

fn has_literal(turn: &Recording, text: &str) -> bool {
    turn.markers().iter().any(|literal| text.contains(literal.as_str()))
}

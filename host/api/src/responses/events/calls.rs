//! Events of the calls that clients run: functions and custom tools.

use schemars::JsonSchema;
use serde::Serialize;

use super::{At, Event};
use crate::schema::padded;

#[derive(Debug, JsonSchema, Serialize)]
#[schemars(transform = padded)]
pub(in crate::responses) struct CallDelta<'a> {
    item_id: &'a str,
    output_index: usize,
    delta: &'a str,
}

impl<'a> CallDelta<'a> {
    fn new(at: At<'a>, delta: &'a str) -> Self {
        let At { item_id, output_index } = at;
        Self { item_id, output_index, delta }
    }
}

/// `response.function_call_arguments.delta`.
pub(in crate::responses) fn arguments_delta<'a>(at: At<'a>, delta: &'a str) -> Event<CallDelta<'a>> {
    Event { kind: "response.function_call_arguments.delta", body: CallDelta::new(at, delta) }
}

/// `response.custom_tool_call_input.delta`.
pub(in crate::responses) fn input_delta<'a>(at: At<'a>, delta: &'a str) -> Event<CallDelta<'a>> {
    Event { kind: "response.custom_tool_call_input.delta", body: CallDelta::new(at, delta) }
}

#[derive(Debug, JsonSchema, Serialize)]
pub(in crate::responses) struct ArgumentsDone<'a> {
    #[serde(flatten)]
    at: At<'a>,
    name: &'a str,
    arguments: &'a str,
}

/// `response.function_call_arguments.done`.
pub(in crate::responses) fn arguments_done<'a>(
    at: At<'a>,
    name: &'a str,
    arguments: &'a str,
) -> Event<ArgumentsDone<'a>> {
    Event { kind: "response.function_call_arguments.done", body: ArgumentsDone { at, name, arguments } }
}

#[derive(Debug, JsonSchema, Serialize)]
pub(in crate::responses) struct InputDone<'a> {
    #[serde(flatten)]
    at: At<'a>,
    input: &'a str,
}

/// `response.custom_tool_call_input.done`.
pub(in crate::responses) fn input_done<'a>(at: At<'a>, input: &'a str) -> Event<InputDone<'a>> {
    Event { kind: "response.custom_tool_call_input.done", body: InputDone { at, input } }
}

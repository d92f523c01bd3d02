//! Reader of a body of `/v1/responses/compact`: that of a request for a response, whose conversation is compacted instead of answered.

use super::super::super::error::ApiError;
use super::super::super::ids::{Clock, Ids};
use super::super::super::json::{Object, Value};
use super::super::super::raw::{self, Json};
use super::super::super::request::{ApiRequest, Defaults};
use super::super::continuation::Continuation;
use super::super::input_items::Input;
use super::super::request::{ResponsesRequest, parse};
use super::machine::CompactMachine;
use crate::agent::{Compaction, Occasion};

/// Reads the body, and makes the machine that answers it. The answer is never a stream.
pub(crate) fn compact(
    body: &Object<'_>,
    continuation: &Continuation,
    defaults: &Defaults,
    ids: Ids,
    now: Clock,
) -> Result<ApiRequest, ApiError> {
    let ResponsesRequest { job, warnings, .. } = parse(body, continuation, defaults)?;
    let machine = CompactMachine::new(
        user_messages(Input::new(body, continuation.whole.as_ref()))?,
        defaults.seal.clone(),
        ids,
        now,
    );
    let compaction = Compaction { occasion: Occasion::Asked, prompt: defaults.compaction_prompt.clone() };
    Ok(ApiRequest {
        stream: false,
        job,
        hosted: None,
        compaction: Some(compaction),
        warnings,
        machine: Box::new(machine),
    })
}

/// The users' messages of the input as they were sent, with the `type` that clients may leave out.
fn user_messages(input: Input<'_>) -> Result<Vec<Json>, ApiError> {
    if let Some(text @ Value::String(_)) = input.value() {
        let part = raw::object([("type", Json::of("input_text")), ("text", text.to_json())]);
        let fields = [("role", Json::of("user")), ("content", Json::of(&[part]))];
        return Ok(vec![message(fields.into_iter())]);
    }
    let is_message = |item: Value<'_>| {
        let kind = item.field("type").filter(|kind| !kind.is_null());
        let role = item.field("role").and_then(Value::as_str);
        role == Some("user") && kind.is_none_or(|kind| kind.as_str() == Some("message"))
    };
    let sent = |(path, item)| {
        let item = Object::new(item, path)?;
        let rest = item.fields().filter(|(name, _)| *name != "type");
        Ok(message(rest.map(|(name, value)| (name, value.to_json()))))
    };
    input.items().filter(|(_, item)| is_message(*item)).map(sent).collect()
}

fn message<'a>(fields: impl Iterator<Item = (&'a str, Json)>) -> Json {
    raw::object(std::iter::once(("type", Json::of("message"))).chain(fields))
}

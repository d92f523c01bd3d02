//! Reader of a body of `/v1/responses/compact`: that of a request for a response, whose
//! conversation is compacted instead of answered.

use super::machine::CompactMachine;
use crate::agent::{Compaction, Occasion};
use crate::error::ApiError;
use crate::ids::{Clock, Ids};
use crate::json::{JsonObject, Value};
use crate::raw::Json;
use crate::request::{ApiRequest, Defaults};
use crate::responses::continuation::Continuation;
use crate::responses::fields;
use crate::responses::input_items::Input;
use crate::responses::own_items::{user_message, whole};
use crate::responses::request::{ResponsesRequest, parse};

/// Reads the body, and makes the machine that answers it. The answer is never a stream.
pub fn compact(
    body: &JsonObject<'_>,
    continuation: &Continuation,
    defaults: &Defaults,
    mut ids: Ids,
    now: &Clock,
) -> Result<ApiRequest, ApiError> {
    let ResponsesRequest { job, warnings, .. } = parse(body, continuation, defaults)?;
    let messages = user_messages(Input::new(body, continuation.whole.as_ref())?, &mut ids)?;
    let machine = CompactMachine::new(messages, defaults.seal.clone(), ids, now);
    let compaction = Compaction { occasion: Occasion::Asked, prompt: defaults.compaction_prompt.clone() };
    Ok(ApiRequest {
        stream: false,
        job,
        hosted: None,
        clearing: Vec::new(),
        compaction: Some(compaction),
        warnings,
        machine: Box::new(machine),
    })
}

/// The users' messages of the input, as stored items show them.
fn user_messages(input: Input<'_>, ids: &mut Ids) -> Result<Vec<Json>, ApiError> {
    let json =
        |item: store::StoredItem| Json::new(String::from_utf8(item.body).expect("JSON of ours is UTF-8"));
    if let Some(Value::String(text)) = input.of.value(fields::INPUT) {
        return Ok(vec![json(user_message(text.get(), ids))]);
    }
    let is_message = |item: Value<'_>| {
        let kind = item.field(fields::TYPE).filter(|kind| !kind.is_null());
        let role = item.field(fields::ROLE).and_then(Value::as_str);
        role == Some("user") && kind.is_none_or(|kind| kind.as_str() == Some("message"))
    };
    let messages = input.items().filter(|(_, item)| is_message(*item));
    messages.map(|(path, item)| whole(&JsonObject::new(item, path)?, ids).map(json)).collect()
}

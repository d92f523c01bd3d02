//! Stored responses as clients get them: an object and the items of its output become one object
//! again, and a log's events get their names and padding back.

use std::borrow::Cow;
use std::sync::LazyLock;

use serde::Deserialize;

use super::{fields, schema};
use crate::error::ApiError;
use crate::event_buffer::EventBuffer;
use crate::query::Query;

/// Where the output stands in an object without one. No string before it can have these bytes,
/// since quotes in strings are escaped.
const NO_OUTPUT: &[u8] = br#","output":[]"#;

/// Whether the query asks for the events of a background response, in place of the response.
///
/// # Errors
/// 400 where `stream` is neither true nor false.
pub fn events_are_asked_for(query: &Query) -> Result<bool, ApiError> {
    Ok(query.flag(fields::EVENTS)?.unwrap_or(false))
}

/// Which of these events a client wants.
#[derive(Debug)]
pub struct WantedEvents {
    /// Number of the event behind which they begin; all of them without it.
    pub after: Option<u64>,
    /// Whether they are padded.
    pub are_padded: bool,
}

impl WantedEvents {
    /// Reads the query.
    ///
    /// # Errors
    /// 400 where a field has a wrong value.
    pub fn of(query: &Query) -> Result<Self, ApiError> {
        let are_padded = query.flag(fields::PADDED)?.unwrap_or(true);
        Ok(Self { after: query.number(fields::STARTING_AFTER)?, are_padded })
    }
}

/// The whole response of a stored `object` and the items of its `output`, as JSON.
pub fn whole(object: &[u8], output: &[store::StoredItem]) -> Vec<u8> {
    let at = object.windows(NO_OUTPUT.len()).position(|bytes| bytes == NO_OUTPUT);
    // What this server stored has an output.
    let (head, tail) = object.split_at(at.map_or(object.len(), |at| at + NO_OUTPUT.len() - 1));
    let size: usize = output.iter().map(|item| item.body.len() + 1).sum();
    let mut json = Vec::with_capacity(object.len() + size);
    json.extend_from_slice(head);
    for (index, item) in output.iter().enumerate() {
        if index > 0 {
            json.push(b',');
        }
        json.extend_from_slice(&item.body);
    }
    json.extend_from_slice(tail);
    json
}

/// The response of a stored `object` that runs, and has this `output` so far.
pub fn under_way(object: &str, output: &[store::StoredItem]) -> Vec<u8> {
    // The status stands before anything that a request wrote.
    let (head, status) = object.split_at(object.find(r#""status":"#).unwrap_or_default());
    let status = status.strip_prefix(r#""status":"queued""#);
    let begun = status.map(|rest| format!(r#"{head}"status":"in_progress"{rest}"#));
    whole(begun.as_deref().unwrap_or(object).as_bytes(), output)
}

/// What is read of a stored event.
#[derive(Deserialize)]
struct StoredEvent<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    delta: Option<Cow<'a, str>>,
}

/// Appends a stored event. Where readers `pad`, one with a delta is padded as it was when it was
/// first sent.
pub fn push(event: &[u8], pad: bool, buffer: &mut EventBuffer) {
    static KINDS: LazyLock<Vec<&'static str>> = LazyLock::new(schema::event_kinds);
    let read: Option<StoredEvent<'_>> = serde_json::from_slice(event).ok();
    let name = read.as_ref().and_then(|read| KINDS.iter().find(|kind| **kind == read.kind)).copied();
    let secret = read.and_then(|read| read.delta).map(|delta| delta.len()).filter(|_| pad);
    buffer.push_encoded(name, secret, event);
}

//! Lanes of a WebSocket: their names, and the lane that an event belongs to.

use bytes::{BufMut, Bytes, BytesMut};
use serde::Serialize;

use crate::error::ApiError;
use crate::json::{Field, JsonObject};

/// What events have beside a request's fields: the lane.
const STREAM_ID: Field<&str> = Field::new("stream_id", "");

/// Maximum length of a lane's name.
const NAME_LENGTH: usize = 256;

/// Name of a lane of a socket, `stream_id`: 1 to 256 letters, digits, `_`, `-` and `.`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StreamId(pub(super) String);

impl StreamId {
    /// The lane of this name, if it is one.
    pub fn new(name: &str) -> Option<Self> {
        let is_name = (1..=NAME_LENGTH).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
        is_name.then(|| Self(name.to_owned()))
    }

    /// # Errors
    /// 400 `invalid_stream_id` where the field is there and is no such name.
    pub(super) fn read(body: &JsonObject<'_>) -> Result<Option<Self>, ApiError> {
        match body.get(STREAM_ID).map(|name| name.map(Self::new)) {
            Ok(None) => Ok(None),
            Ok(Some(Some(id))) => Ok(Some(id)),
            _ => {
                let what = "expected 1 to 256 letters, digits, `_`, `-` and `.`; leave it out for the lane without a name";
                Err(body.at(STREAM_ID).invalid(what).with_code("invalid_stream_id"))
            }
        }
    }
}

pub(super) fn to_bytes(event: &impl Serialize) -> Bytes {
    serde_json::to_vec(event).expect("protocol types serialise").into()
}

/// A response's event as its lane has it: with the lane's name, if it has one.
pub fn of_lane(event: Bytes, stream_id: Option<&StreamId>) -> Bytes {
    let (Some(StreamId(name)), Some(fields)) = (stream_id, event.strip_suffix(b"}")) else { return event };
    // Names need no escaping, and every event has fields before this one.
    let mut named = BytesMut::with_capacity(event.len() + name.len() + 16);
    for part in [fields, br#","stream_id":""#, name.as_bytes(), b"\"}"] {
        named.put_slice(part);
    }
    named.freeze()
}

//! Route that the parser gives for text in advance, and what ends it. `router` keeps it.

use super::open_json::OpenJson;
use super::step_error::StepError;
use contract::{self, JsonRest, Route};

/// Maximum number of bytes in an `until-byte`.
const MAX_BYTES: usize = 16;

/// Route of the text up to the next marker, or up to something before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresetRoute {
    /// Route of the text.
    pub route: Route,
    end: End,
}

/// What ends an [`Until`] before a marker does.
#[derive(Debug, Clone, PartialEq, Eq)]
enum End {
    Nothing,
    /// Any of these ASCII bytes, one bit for each.
    Bytes(u128),
    /// The bracket that closes a JSON value.
    Json(OpenJson),
}

impl PresetRoute {
    /// Route up to the next marker.
    pub fn marker(route: Route) -> Self {
        Self { route, end: End::Nothing }
    }

    /// Route up to the next marker or one of these bytes.
    pub fn byte(until: &contract::Until) -> Result<Self, StepError> {
        let bytes = until.bytes.as_bytes();
        if !bytes.is_ascii() || !(1..=MAX_BYTES).contains(&bytes.len()) {
            return Err(StepError::UntilBytes);
        }
        let stops = bytes.iter().fold(0, |stops, byte| stops | 1 << byte);
        Ok(Self { route: until.route, end: End::Bytes(stops) })
    }

    /// Route up to the bracket that closes a JSON value, or the next marker outside of its strings.
    pub fn json(rest: JsonRest) -> Result<Self, StepError> {
        let json = OpenJson::new(rest.depth, rest.in_string).ok_or(StepError::UntilJson)?;
        Ok(Self { route: rest.route, end: End::Json(json) })
    }

    /// Number of bytes of `text`, which comes next, before what ends the route.
    #[inline]
    pub fn bytes_before_end(&mut self, text: &str) -> usize {
        match &mut self.end {
            End::Nothing => text.len(),
            End::Bytes(stops) => {
                let ends = |byte: u8| byte.is_ascii() && *stops >> byte & 1 == 1;
                text.bytes().position(ends).unwrap_or(text.len())
            }
            End::Json(json) => json.follow(text.as_bytes()),
        }
    }

    /// Whether it goes up to the end of a JSON value.
    pub(crate) fn is_json(&self) -> bool {
        matches!(&self.end, End::Json(_))
    }

    /// Whether the next byte is inside a string of the followed JSON: a marker there is part of the string.
    pub fn in_string(&self) -> bool {
        matches!(&self.end, End::Json(json) if json.in_string())
    }
}

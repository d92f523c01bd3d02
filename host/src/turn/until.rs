//! Where text goes without the parser being asked, and what ends that. `router` keeps it.

use super::illegal::Illegal;
use super::open_json::OpenJson;
use crate::parser::contract::{self, JsonRest, Route};

/// Bytes that may end it.
const MOST_BYTES: usize = 16;

/// A parser's word on the text up to the next marker, or up to something before that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Until {
    /// Where the text goes.
    pub(crate) route: Route,
    end: End,
}

/// What ends it before a marker does.
#[derive(Debug, Clone, PartialEq, Eq)]
enum End {
    Nothing,
    /// Any of these ASCII bytes, a bit for each.
    Bytes(u128),
    /// The last bracket of a JSON value.
    Json(OpenJson),
}

impl Until {
    /// Up to the next marker.
    pub(crate) fn marker(route: Route) -> Self {
        Self { route, end: End::Nothing }
    }

    /// Up to the next marker or one of these bytes.
    pub(crate) fn byte(until: &contract::Until) -> Result<Self, Illegal> {
        let bytes = until.bytes.as_bytes();
        if !bytes.is_ascii() || !(1..=MOST_BYTES).contains(&bytes.len()) {
            return Err(Illegal::UntilBytes);
        }
        let stops = bytes.iter().fold(0, |stops, byte| stops | 1 << byte);
        Ok(Self { route: until.route, end: End::Bytes(stops) })
    }

    /// Up to the end of a JSON value, or the next marker outside of its strings.
    pub(crate) fn json(rest: JsonRest) -> Result<Self, Illegal> {
        let json = OpenJson::new(rest.depth, rest.in_string).ok_or(Illegal::UntilJson)?;
        Ok(Self { route: rest.route, end: End::Json(json) })
    }

    /// Bytes of `text`, which comes next, before what ends it.
    #[inline]
    pub(crate) fn goes(&mut self, text: &str) -> usize {
        match &mut self.end {
            End::Nothing => text.len(),
            End::Bytes(stops) => {
                let ends = |byte: u8| byte.is_ascii() && *stops >> byte & 1 == 1;
                text.bytes().position(ends).unwrap_or(text.len())
            }
            End::Json(json) => json.follow(text.as_bytes()),
        }
    }

    /// Whether the next byte is inside a string of JSON that is followed: a marker there is part of it.
    pub(crate) fn in_string(&self) -> bool {
        matches!(&self.end, End::Json(json) if json.in_string())
    }
}

//! Where text goes without the parser being asked, and what ends that. `router` keeps it.

use super::illegal::Illegal;
use crate::parser::contract::{self, Route};

/// Bytes that may end it.
const MOST_BYTES: usize = 16;

/// A parser's word on the text up to the next marker, or up to one of a few bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Until {
    /// Where the text goes.
    pub(super) route: Route,
    /// One bit for each ASCII byte that ends it.
    stops: u128,
}

impl Until {
    /// Up to the next marker.
    pub(super) fn marker(route: Route) -> Self {
        Self { route, stops: 0 }
    }

    /// Up to the next marker or one of these bytes.
    pub(super) fn byte(until: &contract::Until) -> Result<Self, Illegal> {
        let bytes = until.bytes.as_bytes();
        if !bytes.is_ascii() || !(1..=MOST_BYTES).contains(&bytes.len()) {
            return Err(Illegal::UntilBytes);
        }
        Ok(Self { route: until.route, stops: bytes.iter().fold(0, |stops, byte| stops | 1 << byte) })
    }

    /// Bytes of `text` before the first one that ends it.
    pub(super) fn reach(&self, text: &str) -> usize {
        if self.stops == 0 {
            return text.len();
        }
        let ends = |byte: u8| byte.is_ascii() && self.stops >> byte & 1 == 1;
        text.bytes().position(ends).unwrap_or(text.len())
    }
}

//! Text that the test kit's player routes without asking the parser.

use crate::json::{Event, Scanner};
use crate::types::{self, JsonRest, Route};

/// Route of the text up to the next marker, or up to an end before that.
#[derive(Debug)]
pub(super) struct Until {
    pub(super) route: Route,
    end: End,
}

#[derive(Debug)]
enum End {
    /// One of these bytes, if any.
    Bytes(&'static str),
    /// The last bracket of a JSON value.
    Json(Scanner),
}

impl Until {
    pub(super) fn marker(route: Route) -> Self {
        Self { route, end: End::Bytes("") }
    }

    pub(super) fn byte(until: types::Until) -> Self {
        assert!(until.bytes.is_ascii() && (1..=16).contains(&until.bytes.len()), "{until:?}");
        Self { route: until.route, end: End::Bytes(until.bytes) }
    }

    pub(super) fn json(rest: JsonRest) -> Self {
        assert!(rest.depth > 0, "{rest:?}");
        Self { route: rest.route, end: End::Json(Scanner::inside_value(rest.depth, rest.in_string)) }
    }

    /// Whether the end is that of a JSON value.
    pub(super) fn is_json(&self) -> bool {
        matches!(self.end, End::Json(_))
    }

    /// Whether the next byte is inside a string of that JSON value.
    pub(super) fn in_string(&self) -> bool {
        matches!(&self.end, End::Json(scanner) if scanner.in_string())
    }

    /// Reads `text`. Returns the number of its bytes before the end.
    pub(super) fn goes(&mut self, text: &str) -> usize {
        let end = match &mut self.end {
            End::Bytes(bytes) => text.bytes().position(|byte| bytes.as_bytes().contains(&byte)),
            End::Json(scanner) => scanner.read_to(Event::ValueEnd, text.as_bytes()).map(|read| read - 1),
        };
        end.unwrap_or(text.len())
    }
}

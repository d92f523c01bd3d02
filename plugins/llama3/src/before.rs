//! What may stand before a call. `Llama3` holds a [`Before`] with each object that may be one.

use parser_sdk::json::{Bare, Name};

/// Bytes before the first call of a message.
pub(crate) const BLANK: &[u8] = b" \n\r\t";
/// Bytes that are dropped between calls: separators and surplus closing brackets.
pub(crate) const SEPARATORS: &[u8] = b" \n\r\t;,}])";
/// The same where a fence opened before the calls.
const FENCED: &[u8] = b" \n\r\t;,}])`";

/// Names that the next call may have, and the bytes that may stand before it.
pub(crate) type Next = (Name, &'static [u8]);

/// Markup before an object, and how many bytes it has.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Before {
    Nothing,
    Fence(usize),
    Tag(usize),
}

impl Before {
    /// What stands before an object behind these separators.
    pub(crate) fn behind(separators: &[u8]) -> Self {
        if separators == FENCED { Self::Fence(0) } else { Self::Nothing }
    }

    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Fence(bytes) | Self::Tag(bytes) => bytes,
        }
    }

    /// What may follow a call of `bare`.
    pub(crate) fn next(self, bare: &Bare) -> Next {
        (bare.name(), if matches!(self, Self::Fence(_)) { FENCED } else { SEPARATORS })
    }
}

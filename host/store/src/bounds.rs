//! What is counted for a row, and bounds that no operator sets.

use std::time::Duration;

use crate::Millis;

/// What is counted for a response, a conversation or a chunk beside its bodies: the row and its
/// places in indexes.
pub const ROW_BYTES: u64 = 300;
/// What is counted for an item beside its id and body.
pub const ITEM_BYTES: u64 = 100;
/// Raw bytes of one chunk at most; longer ones are stored as several.
pub(crate) const CHUNK_BYTES: usize = 1 << 20;
/// Reading something renews its age, but at most this often: a read is no write otherwise.
pub(crate) const TOUCH: Duration = Duration::from_hours(1);
/// Responses that one sweep takes over.
pub(crate) const SWEPT: usize = 64;

pub(crate) fn millis(duration: Duration) -> Millis {
    u64::try_from(duration.as_millis()).unwrap_or(i64::MAX.unsigned_abs())
}

//! Gemma 4's BPE (`gemma4`): merges over characters, with `▁` for spaces and tokens of bytes for
//! characters that are no tokens.

use super::Parts;
use super::byte_level::merges;
use super::sentence_piece::spelling;
use crate::error::GgufError;
use crate::keys::Keys;

/// Name of the kind.
pub(super) const NAME: &str = "gemma4";
/// A token that ends a turn, since the answer of a tool follows it, though it is shown.
pub(super) const TOOL_RESPONSE: &str = "<|tool_response>";

pub(super) fn parts<'a>(keys: &Keys<'a>) -> Result<Parts<'a>, GgufError> {
    Ok(Parts { merges: merges(keys, NAME)?, ..spelling(false) })
}

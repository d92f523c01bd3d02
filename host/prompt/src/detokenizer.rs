//! Incremental detokenizer: makes text of token ids as they come, exactly and in constant time per
//! token.
//!
//! Invariant: the pieces of any sequence of ids, the flush included, are together the text of the
//! whole sequence; no piece ends inside a character. Where tokens have bytes (BPE of the GPT-2 kind,
//! `SentencePiece`) it has a table from id to bytes; else it decodes a short window of ids again
//! with each id. There is one per stream, driven by the task that owns it.

use std::sync::Arc;

use super::token_bytes::TokenBytes;
use super::tokenizer::Tokenizer;

/// Detokenizer of one stream.
#[derive(Debug, Clone)]
pub struct Detokenizer {
    tokenizer: Arc<Tokenizer>,
    state: State,
}

#[derive(Debug, Clone)]
enum State {
    /// For tokens that have bytes: the table, and the bytes of a character that isn't complete yet
    /// (three at most).
    Bytes {
        table: Arc<TokenBytes>,
        pending: Vec<u8>,
        /// Whether the next byte, if it is a space, is none: at the beginning of a text.
        drops_space: bool,
    },
    /// For other tokenizers: ids that are decoded again with each new one. The text of the first
    /// `shown` of them was appended before.
    Window { ids: Vec<u32>, shown: usize },
}

/// Number of unshown ids from which on their text is shown even if it ends with U+FFFD: a character
/// has at most four bytes, and an id that brings none of them ends it.
const MAX_UNSHOWN: usize = 4;
/// Number of ids that are kept as context: they decide how the next one is spelt (a space before a
/// word).
const CONTEXT: usize = 4;

impl Detokenizer {
    /// Makes the detokenizer of a stream that follows `prompt`; an empty one if the stream begins a
    /// text.
    pub fn new(tokenizer: Arc<Tokenizer>, prompt: &[u32]) -> Self {
        let state = if let Some(table) = tokenizer.token_bytes() {
            let drops_space = prompt.is_empty() && tokenizer.drops_first_space();
            State::Bytes { table: Arc::clone(table), pending: Vec::new(), drops_space }
        } else {
            let ids = prompt[prompt.len().saturating_sub(CONTEXT)..].to_vec();
            State::Window { shown: ids.len(), ids }
        };
        Self { tokenizer, state }
    }

    /// Appends the text that token `id` adds. Added tokens, special ones too, are spelt as their
    /// literals; an id that isn't in the vocabulary adds nothing.
    pub fn push(&mut self, id: u32, out: &mut String) {
        match &mut self.state {
            State::Bytes { table, pending, drops_space } => {
                let mut bytes = table.get(id);
                if *drops_space && !bytes.is_empty() {
                    *drops_space = false;
                    bytes = bytes.strip_prefix(b" ").unwrap_or(bytes);
                }
                if pending.is_empty()
                    && let Ok(text) = std::str::from_utf8(bytes)
                {
                    return out.push_str(text);
                }
                pending.extend_from_slice(bytes);
                drain_characters(pending, out);
            }
            State::Window { ids, shown } => {
                ids.push(id);
                show_window(&self.tokenizer, ids, shown, false, out);
            }
        }
    }

    /// Whether no character is left incomplete.
    pub fn is_whole(&self) -> bool {
        match &self.state {
            State::Bytes { pending, .. } => pending.is_empty(),
            State::Window { ids, shown } => ids.len() == *shown,
        }
    }

    /// Appends U+FFFD for a character that was left incomplete. Further ids may be pushed
    /// afterwards.
    pub fn flush(&mut self, out: &mut String) {
        match &mut self.state {
            State::Bytes { pending, .. } => {
                out.push_str(&String::from_utf8_lossy(pending));
                pending.clear();
            }
            State::Window { ids, shown } => show_window(&self.tokenizer, ids, shown, true, out),
        }
    }
}

/// Moves complete characters from `pending` to `out`. Bytes that can't become a character any more
/// become U+FFFD.
fn drain_characters(pending: &mut Vec<u8>, out: &mut String) {
    let mut rest = pending.as_slice();
    loop {
        let error = match std::str::from_utf8(rest) {
            Ok(text) => {
                out.push_str(text);
                pending.clear();
                return;
            }
            Err(error) => error,
        };
        let (valid, invalid) = rest.split_at(error.valid_up_to());
        out.push_str(std::str::from_utf8(valid).unwrap_or_default());
        let Some(len) = error.error_len() else {
            let incomplete = pending.len() - invalid.len();
            pending.drain(..incomplete);
            return;
        };
        out.push(char::REPLACEMENT_CHARACTER);
        rest = &invalid[len..];
    }
}

/// Appends the text that the unshown ids of the window add, unless it ends with a character that
/// may still be completed.
fn show_window(tokenizer: &Tokenizer, ids: &mut Vec<u32>, shown: &mut usize, flush: bool, out: &mut String) {
    let (Ok(before), Ok(text)) = (tokenizer.decode(&ids[..*shown]), tokenizer.decode(ids)) else { return };
    let is_incomplete = text.ends_with(char::REPLACEMENT_CHARACTER) && ids.len() - *shown < MAX_UNSHOWN;
    if is_incomplete && !flush {
        return;
    }
    let same = before.chars().zip(text.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
    out.push_str(&text[same..]);
    let surplus = ids.len().saturating_sub(CONTEXT);
    ids.drain(..surplus);
    *shown = ids.len();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cost of a token is bounded, since it depends only on what is kept of the stream before
    /// it.
    #[test]
    fn only_a_character_or_short_window_of_stream_is_kept() {
        let json = include_bytes!("../../models/qwen3-tiny/tokenizer.json");
        let tokenizer = Arc::new(Tokenizer::from_json(json).unwrap());
        let window = State::Window { ids: Vec::new(), shown: 0 };
        let windowed = Detokenizer { tokenizer: Arc::clone(&tokenizer), state: window };
        for mut detokenizer in [Detokenizer::new(tokenizer, &[]), windowed] {
            let mut out = String::new();
            for at in 0..20_000_u32 {
                detokenizer.push(at * 7 % 300, &mut out);
                let (kept, bound) = match &detokenizer.state {
                    State::Bytes { pending, .. } => (pending.len(), 3),
                    State::Window { ids, .. } => (ids.len(), CONTEXT + MAX_UNSHOWN),
                };
                assert!(kept <= bound, "{kept} kept after {at}");
            }
        }
    }
}

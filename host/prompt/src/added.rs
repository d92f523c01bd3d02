//! Added tokens, which a model has beside its vocabulary, and the text that each takes where it
//! stands.
//!
//! The rules are those of the `tokenizers` library: a token may take the white space around it, and
//! may be a token only as a whole word; tokens that are white space only are found in any text, the
//! leftmost and longest first. Called by `tokenizer`.

use std::collections::HashMap;

use aho_corasick::{AhoCorasick, MatchKind};

/// Added token: a token beside the model's own vocabulary.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "the flags of the file format")]
pub struct AddedToken {
    /// Id of the token.
    pub id: u32,
    /// Text that stands for the token.
    pub literal: String,
    /// Whether the token never belongs to text that is shown (BOS, EOS, padding), as opposed to
    /// markup such as `<think>`.
    pub special: bool,
    /// Whether the token takes the white space before it.
    pub(super) lstrip: bool,
    /// Whether the token takes the white space after it.
    pub(super) rstrip: bool,
    /// Whether the literal is a token only as a whole word: where no letter, digit or underscore
    /// touches it.
    pub(super) single_word: bool,
}

/// Range of a prompt's text, in bytes: an added token, or text.
#[derive(Debug)]
pub(super) struct Split {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Id of the added token; `None` for text.
    pub(super) id: Option<u32>,
}

impl AddedToken {
    /// Makes token `id` from its entry in the file.
    pub(super) fn new(id: u32, token: tokenizers::AddedToken) -> Self {
        Self {
            id,
            literal: token.content,
            special: token.special,
            lstrip: token.lstrip,
            rstrip: token.rstrip,
            single_word: token.single_word,
        }
    }

    /// Whether the literal is white space only. Such a token controls nothing.
    pub fn is_whitespace(&self) -> bool {
        self.literal.chars().all(char::is_whitespace)
    }

    /// Returns the range of `text` that the token takes if its literal begins at `at`, between the
    /// token that ended at `from` and the one that begins at `to`; `None` if a letter touches a
    /// token that must be a whole word.
    pub(super) fn cut(&self, text: &str, at: usize, from: usize, to: usize) -> Option<Split> {
        let (before, after) = (&text[..at], &text[at + self.literal.len()..]);
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        if self.single_word && (before.ends_with(is_word) || after.starts_with(is_word)) {
            return None;
        }
        let after = &text[at + self.literal.len()..to];
        let start = if self.lstrip { from.max(before.trim_end().len()) } else { at };
        let end = if self.rstrip { to - after.trim_start().len() } else { to - after.len() };
        Some(Split { start, end, id: Some(self.id) })
    }
}

/// Finder of added tokens that are white space only.
#[derive(Debug)]
pub(super) struct WhitespaceTokens {
    literals: AhoCorasick,
    ids: Vec<u32>,
}

impl WhitespaceTokens {
    /// Makes the finder of the white-space tokens among `added`; `None` if there are none. The
    /// error is a reason.
    pub(super) fn new(added: &HashMap<u32, AddedToken>) -> Result<Option<Self>, String> {
        let is_whitespace = |token: &&AddedToken| token.is_whitespace() && !token.literal.is_empty();
        let tokens: Vec<&AddedToken> = added.values().filter(is_whitespace).collect();
        if tokens.is_empty() {
            return Ok(None);
        }
        let literals = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(tokens.iter().map(|token| &token.literal))
            .map_err(|error| error.to_string())?;
        Ok(Some(Self { literals, ids: tokens.iter().map(|token| token.id).collect() }))
    }

    /// Cuts `text[start..end]` into white-space tokens and other text, and appends the parts to
    /// `splits`.
    pub(super) fn cut(&self, text: &str, start: usize, end: usize, splits: &mut Vec<Split>) {
        let mut rest = start;
        for found in self.literals.find_iter(&text[start..end]) {
            let (at, after) = (start + found.start(), start + found.end());
            splits.extend((rest < at).then_some(Split { start: rest, end: at, id: None }));
            splits.push(Split { start: at, end: after, id: Some(self.ids[found.pattern().as_usize()]) });
            rest = after;
        }
        splits.extend((rest < end).then_some(Split { start: rest, end, id: None }));
    }
}

//! Tokens of a file, by id, and their types.

use std::collections::HashMap;

use crate::error::{GgufError, printable};
use crate::keys::Keys;
use crate::value::{Array, MetadataValue};

/// Most tokens. Published vocabularies have less than 2¹⁹.
const MOST_TOKENS: usize = 1 << 20;
/// Key of the list of all tokens, by id.
pub(crate) const TOKENS: &str = "tokenizer.ggml.tokens";
const TYPES: &str = "tokenizer.ggml.token_type";
pub(super) const SCORES: &str = "tokenizer.ggml.scores";

/// Type of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenType {
    /// Found by merging.
    Normal,
    /// Stands for what the vocabulary lacks.
    Unknown,
    /// Never written by text, and not shown.
    Control,
    /// Found in text as it is, before anything is merged.
    UserDefined,
    /// Fills up the matrix: no token at all.
    Unused,
    /// One byte of a character that isn't a token.
    Byte,
}

/// Tokens by id. No two are alike, but for those that are unused.
#[derive(Debug)]
pub(super) struct Vocabulary<'a> {
    tokens: Vec<(&'a str, TokenType)>,
    /// Scores of all tokens; empty where the file has none.
    scores: Vec<f32>,
}

impl<'a> Vocabulary<'a> {
    pub(super) fn read(keys: &Keys<'a>) -> Result<Self, GgufError> {
        let list = keys.needed_array(TOKENS)?;
        if list.len() > MOST_TOKENS {
            return Err(keys.error(format!("{TOKENS} has {} tokens, more than {MOST_TOKENS}", list.len())));
        }
        let types = types(keys, list.len())?;
        let mut tokens = Vec::with_capacity(list.len());
        for (id, (token, token_type)) in list.iter().zip(types).enumerate() {
            let text = token.as_str().ok_or_else(|| keys.error(format!("token {id} is no text in UTF-8")))?;
            // A token without text can't be found in any.
            tokens.push((text, if text.is_empty() { TokenType::Unused } else { token_type }));
        }
        let vocabulary = Self { tokens, scores: scores(keys, list.len())? };
        vocabulary.check_unique(keys)?;
        Ok(vocabulary)
    }

    fn check_unique(&self, keys: &Keys<'_>) -> Result<(), GgufError> {
        let mut ids = HashMap::with_capacity(self.tokens.len());
        for (id, text, _) in self.iter() {
            if let Some(other) = ids.insert(text, id) {
                return Err(keys.error(format!("tokens {other} and {id} are both {:?}", printable(text))));
            }
        }
        Ok(())
    }

    /// All tokens but unused ones: id, text and type.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &'a str, TokenType)> {
        let all = self.tokens.iter().enumerate();
        all.filter(|(_, (_, of))| *of != TokenType::Unused).map(|(id, (text, of))| (id, *text, *of))
    }

    /// Text of the token `id`; `None` if there is none.
    pub(super) fn token(&self, id: usize) -> Option<&'a str> {
        self.tokens.get(id).filter(|(_, of)| *of != TokenType::Unused).map(|(text, _)| *text)
    }

    /// Score of the token `id`.
    pub(super) fn score(&self, id: usize) -> f32 {
        self.scores.get(id).copied().unwrap_or(0.0)
    }
}

/// Reads the type of each token; without a list, all are found by merging.
fn types(keys: &Keys<'_>, tokens: usize) -> Result<Vec<TokenType>, GgufError> {
    let Some(list) = keys.array(TYPES)? else { return Ok(vec![TokenType::Normal; tokens]) };
    check_length(keys, TYPES, &list, tokens)?;
    let of = |value: MetadataValue<'_>| {
        Some(match value.as_u64()? {
            2 => TokenType::Unknown,
            3 => TokenType::Control,
            4 => TokenType::UserDefined,
            5 => TokenType::Unused,
            6 => TokenType::Byte,
            _ => TokenType::Normal,
        })
    };
    let types: Option<Vec<TokenType>> = list.iter().map(of).collect();
    types.ok_or_else(|| keys.error(format!("{TYPES} must be a list of whole numbers from 0 on")))
}

#[expect(clippy::cast_possible_truncation, reason = "scores are f32")]
fn scores(keys: &Keys<'_>, tokens: usize) -> Result<Vec<f32>, GgufError> {
    let Some(list) = keys.array(SCORES)? else { return Ok(Vec::new()) };
    check_length(keys, SCORES, &list, tokens)?;
    let numbers: Option<Vec<f32>> =
        list.iter().map(|value| value.as_f64().map(|score| score as f32)).collect();
    numbers.ok_or_else(|| keys.error(format!("{SCORES} must be a list of numbers")))
}

fn check_length(keys: &Keys<'_>, key: &str, list: &Array<'_>, tokens: usize) -> Result<(), GgufError> {
    if list.len() == tokens {
        return Ok(());
    }
    Err(keys.error(format!("{key} has {} entries for {tokens} tokens", list.len())))
}

//! `logprobs` of completions: parallel lists with one entry per token; alternatives are found by
//! their text.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use model::EchoedToken;
use turn::{TokenLogprob, TokenLogprobs};

/// Smallest log-probability that is written. JSON has no minus infinity; `OpenAI` writes this
/// number for it.
const LEAST: f32 = -9999.0;

/// How tokens are named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenNames {
    /// By their text.
    Texts,
    /// As `token_id:N` (vLLM's `return_tokens_as_token_ids`), which tells tokens of one text apart.
    Ids,
}

/// Tokens with their log-probabilities, and where in the text they begin, in characters.
#[derive(Debug, Default, JsonSchema, Serialize)]
#[schemars(rename = "CompletionLogprobs")]
pub(super) struct TextLogprobs {
    tokens: Vec<String>,
    token_logprobs: Vec<Option<f32>>,
    top_logprobs: Vec<Option<Map<String, Value>>>,
    text_offset: Vec<usize>,
}

impl TextLogprobs {
    /// Adds a token that begins `offset` characters into the text.
    pub(super) fn push(&mut self, token: &TokenLogprobs, offset: usize, names: TokenNames) {
        let name = names.name(token.chosen.id, &token.chosen.bytes);
        self.push_entry(name, Some(token), offset, names);
    }

    /// Adds a token of the prompt. The first one has no log-probability, since nothing precedes it.
    pub(super) fn push_echoed(&mut self, token: &EchoedToken, offset: usize, names: TokenNames) {
        self.push_entry(names.name(token.id, &token.bytes), token.logprobs.as_ref(), offset, names);
    }

    fn push_entry(&mut self, name: String, all: Option<&TokenLogprobs>, offset: usize, names: TokenNames) {
        self.tokens.push(name);
        self.token_logprobs.push(all.map(|all| all.chosen.logprob.max(LEAST)));
        // The token itself is always listed among the alternatives, even if it isn't one of the
        // likeliest.
        let entry =
            |one: &TokenLogprob| (names.name(one.id, &one.bytes), Value::from(one.logprob.max(LEAST)));
        self.top_logprobs.push(all.map(|all| all.top.iter().chain([&all.chosen]).map(entry).collect()));
        self.text_offset.push(offset);
    }

    /// Appends `more`.
    pub(super) fn append(&mut self, mut more: Self) {
        self.tokens.append(&mut more.tokens);
        self.token_logprobs.append(&mut more.token_logprobs);
        self.top_logprobs.append(&mut more.top_logprobs);
        self.text_offset.append(&mut more.text_offset);
    }
}

impl TokenNames {
    fn name(self, id: u32, bytes: &[u8]) -> String {
        match self {
            Self::Texts => spelt(bytes),
            Self::Ids => format!("token_id:{id}"),
        }
    }
}

/// A token as text; a part of a character as `bytes:\xe2\x82`.
fn spelt(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().fold("bytes:".to_owned(), |text, byte| format!("{text}\\x{byte:02x}")),
    }
}

#[cfg(test)]
mod tests {
    use super::spelt;

    #[test]
    fn parts_of_characters_are_spelt_out() {
        assert_eq!(spelt("é".as_bytes()), "é");
        assert_eq!(spelt(&[0xe2, 0x02]), "bytes:\\xe2\\x02");
    }
}

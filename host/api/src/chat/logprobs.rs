//! `logprobs` of chat: the tokens of a message with their log-probabilities, in `OpenAI`'s shape.
//! Only tokens of content are listed.

use schemars::JsonSchema;
use serde::Serialize;

use turn::{DeltaToken, TokenLogprob};

/// Smallest log-probability that is written. JSON has no minus infinity; `OpenAI` writes this
/// number for it.
const LEAST: f32 = -9999.0;

/// `logprobs` of a chunk or of a choice.
#[derive(Debug, Clone, Copy, JsonSchema, Serialize)]
#[schemars(rename = "ChatLogprobs")]
pub(super) struct ContentLogprobs<'a> {
    content: &'a [ChosenToken],
    refusal: Option<()>,
}

impl<'a> ContentLogprobs<'a> {
    pub(super) fn new(content: &'a [ChosenToken]) -> Self {
        Self { content, refusal: None }
    }
}

/// A token that was chosen, and the likeliest ones at its place.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "ChatToken")]
pub(super) struct ChosenToken {
    #[serde(flatten)]
    token: LikelyToken,
    top_logprobs: Vec<LikelyToken>,
}

/// A token and its log-probability. Where it is a part of a character only, `bytes` says which.
#[derive(Debug, JsonSchema, Serialize)]
#[schemars(rename = "ChatLikelyToken")]
struct LikelyToken {
    token: String,
    logprob: f32,
    bytes: Vec<u8>,
}

impl From<&DeltaToken> for ChosenToken {
    fn from(token: &DeltaToken) -> Self {
        let top = token.logprobs.top.iter().map(LikelyToken::from);
        Self { token: LikelyToken::from(&token.logprobs.chosen), top_logprobs: top.collect() }
    }
}

impl From<&TokenLogprob> for LikelyToken {
    fn from(token: &TokenLogprob) -> Self {
        Self {
            token: String::from_utf8_lossy(&token.bytes).into_owned(),
            logprob: token.logprob.max(LEAST),
            bytes: token.bytes.clone(),
        }
    }
}

//! Events of a turn: its items in order, each opened once, filled by deltas, and closed once.
//! Protocols' machines are built on these alone.
//!
//! Invariant of deltas: tokens are in order, and each begins at a byte of the text. `items` writes
//! them, `stop` cuts them.

use std::ops::Deref;
use std::sync::Arc;

use contract::{Payload, Route};

/// Event of a turn. `Text` and `Close` belong to the item opened last; items never overlap.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum TurnEvent {
    /// A new item begins.
    Open(ItemHead),
    /// More text of the open item; never empty.
    Text(Delta),
    /// The open item ends.
    Close(ItemStatus),
    /// The next bytes of the stream went somewhere; only with [`TurnSettings::shows_routes`].
    ///
    /// [`TurnSettings::shows_routes`]: crate::TurnSettings::shows_routes
    Routed(Routed),
}

/// A piece of an item's text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Delta {
    /// The text.
    pub text: String,
    /// Tokens whose first byte is in `text`, with their log-probabilities; empty unless they were
    /// asked for.
    pub tokens: Vec<DeltaToken>,
}

/// A token of a message's text.
#[derive(Debug, Clone, PartialEq)]
pub struct DeltaToken {
    /// Offset in the text at which the token begins, in bytes.
    pub offset: usize,
    /// Log-probabilities of the token and of its alternatives.
    pub logprobs: Arc<TokenLogprobs>,
}

/// A generated token and the likeliest tokens at its position, with their log-probabilities.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenLogprobs {
    /// The token that was generated.
    pub chosen: TokenLogprob,
    /// The likeliest tokens at this position, likeliest first.
    pub top: Vec<TokenLogprob>,
}

/// A token and its log-probability.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenLogprob {
    /// Token id.
    pub id: u32,
    /// Bytes of the token, which may be a part of a character.
    pub bytes: Vec<u8>,
    /// Natural logarithm of the token's probability, before temperature.
    pub logprob: f32,
}

impl Delta {
    /// Clears text and tokens; the memory is kept.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        if !self.tokens.is_empty() {
            self.tokens.clear();
        }
    }

    /// Appends `other`.
    pub(super) fn append(&mut self, mut other: Self) {
        self.append_tokens(&mut other.tokens);
        self.text.push_str(&other.text);
    }

    /// Moves `tokens` here, whose text is about to be appended.
    pub(super) fn append_tokens(&mut self, tokens: &mut Vec<DeltaToken>) {
        let shift = self.text.len();
        self.tokens
            .extend(tokens.drain(..).map(|token| DeltaToken { offset: token.offset + shift, ..token }));
    }

    /// Removes and returns everything from byte `offset` on.
    pub(super) fn split_off(&mut self, offset: usize) -> Self {
        Self { tokens: split_tokens(&mut self.tokens, offset), text: self.text.split_off(offset) }
    }
}

/// Removes and returns the tokens that begin at byte `offset` or later; their offsets then count
/// from there.
pub(super) fn split_tokens(tokens: &mut Vec<DeltaToken>, offset: usize) -> Vec<DeltaToken> {
    let mut later = tokens.split_off(tokens.partition_point(|token| token.offset < offset));
    for token in &mut later {
        token.offset -= offset;
    }
    later
}

impl Deref for Delta {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl<T: Into<String>> From<T> for Delta {
    fn from(text: T) -> Self {
        Self { text: text.into(), tokens: Vec::new() }
    }
}

/// Bytes of a turn's stream, and where they went. Together those of a turn are its stream, each
/// byte once and in order, markup and what came behind its end included; the prompt isn't.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routed {
    /// Where the bytes went; [`Route::Drop`] if no item has them.
    pub route: Route,
    /// The bytes, as the model wrote them; never empty.
    pub text: String,
}

/// Which part of the answer a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// The format doesn't say.
    #[default]
    Unspecified,
    /// A preamble beside calls.
    Commentary,
    /// The answer.
    Final,
}

impl Phase {
    /// The phase of this name in the contract; unspecified if the name isn't known.
    pub fn named(name: &str) -> Self {
        match name {
            "commentary" => Self::Commentary,
            "final" => Self::Final,
            _ => Self::Unspecified,
        }
    }

    /// Its name in the contract; empty if it is unspecified.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unspecified => "",
            Self::Commentary => "commentary",
            Self::Final => "final",
        }
    }
}

/// Kind of an item and its fixed fields, known when it opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemHead {
    /// The model's reasoning.
    Reasoning,
    /// Text for the user.
    Message {
        /// Part of the answer that the message is, where the format says.
        phase: Phase,
    },
    /// A tool call; the item's text is the arguments.
    ToolCall {
        /// Unique id that client and host use for this call, e.g. `call_…`.
        call_id: String,
        /// Name of the tool.
        name: String,
        /// Kind of the arguments.
        payload: Payload,
    },
}

/// How an item ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemStatus {
    /// The item is complete.
    Completed,
    /// The item was cut off.
    Incomplete,
}

/// Whether the turn takes more tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Flow {
    /// The turn takes more tokens.
    Continue,
    /// The turn has ended or failed; [`crate::Turn::finish`] returns how.
    Stop,
}

/// How the turn ended. No event follows it, and every item has been closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    /// The model ended its turn, and no item was cut off.
    Completed,
    /// The token limit was reached.
    MaxOutputTokens,
    /// The client left or the server is stopping.
    Cancelled,
    /// The turn failed; the client is sent the failure.
    Failed(TurnFailure),
}

impl TurnEnd {
    /// Whether the client ended the turn by steering.
    pub fn is_steered(&self) -> bool {
        matches!(self, Self::Failed(failure) if failure.code == TurnFailure::STEERED)
    }

    /// Whether the model's own end, or that of its tokens, was reached.
    pub fn is_own(&self) -> bool {
        matches!(self, Self::Completed | Self::MaxOutputTokens)
    }
}

/// A failure as clients see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnFailure {
    /// OpenAI's error code, e.g. `model_error` or `server_error`.
    pub code: &'static str,
    /// Message for people: what failed, where, and what to do. No addresses, paths or prompt text.
    pub message: String,
}

impl TurnFailure {
    /// The end of an answer that its client cancelled, deleted or left.
    pub fn withdrawn() -> Self {
        Self { code: Self::WITHDRAWN, message: "The answer was cancelled by its client.".to_owned() }
    }

    /// The end of an answer that its client steers: another one follows it.
    pub fn steered() -> Self {
        Self { code: Self::STEERED, message: "The answer was steered by its client.".to_owned() }
    }

    /// Code of a failure: the answer's schema or grammar reached a size limit while the answer was
    /// generated.
    pub const CONSTRAINT_TOO_COMPLEX: &'static str = "constraint_too_complex";
    /// Code of a failure: the answer's schema or grammar reached a time limit while the answer was
    /// generated.
    pub const CONSTRAINT_TOO_SLOW: &'static str = "constraint_too_slow";
    /// Code of a failure: the client doesn't want the answer any more.
    pub const WITHDRAWN: &'static str = "cancelled";
    /// Code of an end at the client's wish, which is no failure: another answer follows.
    pub const STEERED: &'static str = "steered";
    /// Code of a failure: nothing satisfies the answer's schema or grammar.
    pub const CONSTRAINT_UNSATISFIABLE: &'static str = "constraint_unsatisfiable";
    /// Code of a failure: a replayed output isn't what the request demands.
    pub const REPLAY_MISMATCH: &'static str = "replay_mismatch";
}

/// Token counts of one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Number of tokens of the prompt.
    pub input_tokens: u32,
    /// Number of the prompt's tokens that were found in the prefix cache.
    pub cached_tokens: u32,
    /// Number of generated tokens, including the one that ended the turn.
    pub output_tokens: u32,
    /// Number of generated tokens whose first byte went to reasoning.
    pub reasoning_tokens: u32,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, more: Self) {
        self.input_tokens = self.input_tokens.saturating_add(more.input_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(more.cached_tokens);
        self.output_tokens = self.output_tokens.saturating_add(more.output_tokens);
        self.reasoning_tokens = self.reasoning_tokens.saturating_add(more.reasoning_tokens);
    }
}

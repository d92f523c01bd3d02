//! What a turn yields: items in order, each opened once, filled, and closed once. Protocols are built on nothing else.

use super::delta::Delta;
use crate::parser::contract::{Payload, Phase};

/// One thing that happened in the turn. `Text` belongs to the item opened last; items never overlap.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnEvent {
    /// A new item begins.
    Open(ItemHead),
    /// More of the open item; never empty.
    Text(Delta),
    /// The open item ends.
    Close(ItemStatus),
}

/// What an item is, known when it opens and constant from then on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemHead {
    /// The model's reasoning.
    Reasoning,
    /// Text for the user.
    Message {
        /// Its part in the answer, where the format says.
        phase: Phase,
    },
    /// A call; its text is the arguments.
    ToolCall {
        /// The id that client and host use for this call, e.g. `call_…`; unique.
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
    /// Whole.
    Completed,
    /// Cut off.
    Incomplete,
}

/// How the turn ended. After it nothing more is said, and every item has been closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    /// The model ended its turn, and no item was cut off.
    Completed,
    /// The token limit was reached.
    MaxOutputTokens,
    /// The client left or the server is stopping.
    Cancelled,
    /// Something failed; the client is told.
    Failed(TurnFailure),
}

/// A failure as clients see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnFailure {
    /// OpenAI's error code, e.g. `model_error` or `server_error`.
    pub code: &'static str,
    /// One sentence: what, where, what to do. No addresses, paths or prompt text.
    pub message: String,
}

impl TurnFailure {
    /// The code of an answer whose schema or grammar reached a bound on its way.
    pub const CONSTRAINT_TOO_COMPLEX: &'static str = "constraint_too_complex";
    /// The code of an answer whose schema or grammar took more than its share of time.
    pub const CONSTRAINT_TOO_SLOW: &'static str = "constraint_too_slow";
}

/// Tokens of one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Tokens of the prompt.
    pub input_tokens: u32,
    /// Those of them found in the prefix cache.
    pub cached_tokens: u32,
    /// Tokens generated, the one that ended the turn included.
    pub output_tokens: u32,
    /// Those of them whose first byte went to reasoning.
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

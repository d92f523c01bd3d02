//! The part of a request that concerns compaction.

use std::sync::Arc;

/// Compaction that a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compaction {
    /// When the conversation is compacted.
    pub occasion: Occasion,
    /// The prompt by which the model writes the summary.
    pub prompt: Arc<str>,
}

/// When a conversation is compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// Always, and the answer is that alone.
    Asked,
    /// Before the answer, if the prompt has more tokens than this.
    Above(u32),
    /// In place of the answer, if the prompt has more tokens than this.
    InPlaceAbove(u32),
}

impl Occasion {
    /// Whether nothing follows the compaction.
    pub(in crate::agent) fn is_all(self) -> bool {
        matches!(self, Self::Asked | Self::InPlaceAbove(_))
    }
}

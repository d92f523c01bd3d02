//! What all masks of one grammar share.

use std::sync::Arc;
use std::time::Duration;

use super::pool::{LexerLock, MaskPool};
use super::weight::GrammarWeight;

/// Values that all masks of one grammar share.
#[derive(Clone)]
pub(super) struct GrammarParts {
    pub(super) pool: Arc<MaskPool>,
    pub(super) lexer: LexerLock,
    pub(super) weight: Arc<GrammarWeight>,
    /// Most CPU time of a token's mask, on average over an answer.
    pub(super) mask_time: Duration,
    /// Id in the matcher's masks that stands for the end of the turn.
    pub(super) end: u32,
}

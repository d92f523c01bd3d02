//! Steps under way: which rows belong to which sequence, and what is needed to retire the step.

use std::ops::Range;

use super::states::SavedState;
use crate::error::GenerationError;

/// One step under way.
#[derive(Debug, Default)]
pub(super) struct InFlightStep {
    /// The step's sequences, in the batch's order.
    pub(super) entries: Vec<StepEntry>,
    /// Number of rows of logits.
    pub(super) rows: usize,
    /// Whether the step's draws were made.
    pub(super) drawn: bool,
}

/// One sequence's part of a step. The sequence itself may end or be preempted meanwhile.
#[derive(Debug)]
pub(super) struct StepEntry {
    /// Number of admission of the sequence, by which the scheduler finds it.
    pub(super) admission: u64,
    /// Number `block_epoch` of the sequence, which tells whether it still has the KV blocks that
    /// the step writes to.
    pub(super) block_epoch: u32,
    /// Number of tokens that are computed after the step, the draft included.
    pub(super) computed: usize,
    /// Draft tokens in the step, without those that the mask has already rejected.
    pub(super) draft: Vec<u32>,
    /// Rows of logits of the sequence: none within a prompt unless it is scored, else one, and one
    /// more for each token of the draft.
    pub(super) rows: Range<usize>,
    /// Position of the first row, where the rows score tokens of the prompt.
    pub(super) scores_from: Option<usize>,
    /// Snapshots that the step saves of the sequence's state.
    pub(super) saves: Vec<SavedState>,
    /// Whether the mask was late, so that nothing was sampled for the sequence.
    pub(super) is_late: bool,
    /// Error found before the step is done, because of which the sequence takes none of its tokens.
    pub(super) error: Option<GenerationError>,
}

impl StepEntry {
    /// Whether tokens are sampled for the sequence.
    pub(super) fn samples(&self) -> bool {
        !self.rows.is_empty() && self.scores_from.is_none()
    }
}

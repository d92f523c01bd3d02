//! A step under way: which rows are whose, and what is to be done once its tokens are there.

use std::ops::Range;

use crate::error::GenerationError;

/// One step under way.
#[derive(Debug, Default)]
pub(super) struct InFlightStep {
    /// Its sequences, in the batch's order.
    pub(super) entries: Vec<StepEntry>,
    /// Rows of logits.
    pub(super) rows: usize,
    /// Its draws were made.
    pub(super) drawn: bool,
}

/// One sequence's part of a step. The sequence itself may end or be preempted meanwhile.
#[derive(Debug)]
pub(super) struct StepEntry {
    /// Which sequence.
    pub(super) begun: u64,
    /// When it got the blocks that the step writes to.
    pub(super) allocations: u32,
    /// Tokens that are computed after the step, its draft among them.
    pub(super) computed: usize,
    /// Tokens that it computes beyond those that are known, as far as they may be accepted.
    pub(super) draft: Vec<u32>,
    /// Its rows of logits: none in the middle of a prompt, with a draft one more than that has tokens.
    pub(super) rows: Range<usize>,
    /// Its mask wasn't there: nothing was drawn for it.
    pub(super) is_late: bool,
    /// Why its tokens can't be taken, known before they are there.
    pub(super) error: Option<GenerationError>,
}

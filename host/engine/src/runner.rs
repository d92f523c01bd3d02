//! Trait [`Runner`], which runs batches through one model: all that the scheduler knows of models
//! and devices.
//!
//! Invariants: work is enqueued and done in the order of the calls; a step's sampled tokens are on
//! the host once `collect` has returned them. A runner may be one step ahead: `forward(n + 1)`
//! before `collect(n)`, with [`LAST`](crate::batch::LAST) for tokens that step `n` samples. After
//! an error no step is under way.

use std::sync::Arc;

pub use crate::shape::{RunnerShape, StatesShape};

use crate::batch::{Batch, BatchError};
use crate::device_lock::DeviceLock;
use crate::token::{SamplingParams, Token};

/// A model on a device. The order of calls is `forward(n)`, `sample(n)`, with `ahead` 1 perhaps
/// `forward(n + 1)`, then `collect(n)`.
///
/// ```
/// use engine::batch::Batch;
/// use engine::runner::{Draw, Draws, RunError, Runner};
/// use engine::{SamplingParams, Token};
///
/// /// One step of greedy tokens.
/// fn greedy(runner: &mut dyn Runner, batch: &Batch) -> Result<Vec<u32>, RunError> {
///     runner.forward(batch)?;
///     let draw = Draw { sampling: SamplingParams::GREEDY, position: 0, top_logprobs: None };
///     runner.sample(&Draws { rows: &vec![draw; batch.logit_rows.len()], ..Draws::default() })?;
///     let ids = runner.collect()?.rows.iter().flatten().map(|Token { id, .. }| *id);
///     Ok(ids.collect())
/// }
/// ```
pub trait Runner: Send {
    /// Sizes that the scheduler plans with.
    fn shape(&self) -> &RunnerShape;
    /// Lock of the device, where other runners compute on it too: the engine holds it during each
    /// step.
    fn device_lock(&self) -> Option<Arc<DeviceLock>> {
        None
    }
    /// Begins one step: writes the KV cache and computes the logits of the batch's `logit_rows`.
    fn forward(&mut self, batch: &Batch) -> Result<(), RunError>;
    /// Samples a token for each row of `draws`.
    fn sample(&mut self, draws: &Draws<'_>) -> Result<(), RunError>;
    /// Waits for the tokens of the oldest step that was sampled and not collected.
    fn collect(&mut self) -> Result<&Sampled, RunError>;
}

/// Parameters for sampling a step's tokens: one draw for each of the batch's `logit_rows`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Draws<'a> {
    /// `[rows]` draws.
    pub rows: &'a [Draw],
    /// Changes of logits, ascending by row and id; each (row, id) once.
    pub edits: &'a [Edit],
    /// Rows that have a mask, ascending.
    pub mask_rows: &'a [u32],
    /// `[mask_rows, ⌈vocab / 32⌉]`: a bit for each token id, set where the token may come.
    pub masks: &'a [u32],
}

/// Parameters for sampling one row's token, beside logits, edits and mask.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Draw {
    /// Parameters of the request.
    pub sampling: SamplingParams,
    /// Position of the new token in its sequence.
    pub position: usize,
    /// Number of likeliest alternatives to report; `None`: no logprobs at all.
    pub top_logprobs: Option<u8>,
}

/// Change of one logit of one row, made by logits processors: `bias` is added; then a logit above
/// zero is divided by `repetition`, any other is multiplied by it; then `minus` is subtracted.
/// Minus infinity stays minus infinity, except where the bias is plus infinity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Edit {
    /// Index of the row in [`Draws::rows`].
    pub row: u32,
    /// Token id.
    pub id: u32,
    /// Added to the logit; 0 changes nothing.
    pub bias: f32,
    /// Divides or multiplies the logit; 1 changes nothing.
    pub repetition: f32,
    /// Subtracted from the logit; 0 changes nothing.
    pub minus: f32,
}

impl Edit {
    /// Edit after which no token but `id` is the likeliest, so that a greedy draw takes it and
    /// reports its log-probability.
    pub(crate) fn force(row: u32, id: u32) -> Self {
        Self { row, id, bias: f32::INFINITY, repetition: 1.0, minus: 0.0 }
    }

    /// Returns the changed logit. Where the result would be plus infinity, it is `f32::MAX`.
    #[must_use]
    pub fn apply(&self, logit: f32) -> f32 {
        let biased = (logit + self.bias).min(f32::MAX);
        let repeated = if biased > 0.0 { biased / self.repetition } else { biased * self.repetition };
        (repeated - self.minus).min(f32::MAX)
    }
}

impl<'a> Draws<'a> {
    /// The mask and the edits of one row.
    pub fn limits(&self, row: usize) -> (Option<&'a [u32]>, &'a [Edit]) {
        let from = self.edits.partition_point(|edit| (edit.row as usize) < row);
        let to = self.edits.partition_point(|edit| edit.row as usize <= row);
        let words = self.masks.len() / self.mask_rows.len().max(1);
        let at = self.mask_rows.binary_search_by_key(&row, |masked| *masked as usize);
        (at.ok().map(|at| &self.masks[at * words..(at + 1) * words]), &self.edits[from..to])
    }

    /// Checks that the draws fit `rows` rows of `vocab` logits.
    pub fn check(&self, rows: usize, vocab: usize) -> Result<(), RunError> {
        let (draws, edits, masks) = (self.rows.len(), self.edits.len(), self.mask_rows.len());
        let edits_fit = self.edits.is_sorted_by_key(|edit| (edit.row, edit.id))
            && self.edits.iter().all(|edit| (edit.row as usize) < rows && (edit.id as usize) < vocab);
        let masks_fit = self.masks.len() == masks * vocab.div_ceil(32)
            && self.mask_rows.is_sorted()
            && self.mask_rows.last().is_none_or(|row| (*row as usize) < rows);
        if draws == rows && edits_fit && masks_fit {
            Ok(())
        } else {
            Err(RunError::Draws { draws, edits, masks, rows })
        }
    }
}

/// The tokens of one step.
#[derive(Debug, Default)]
pub struct Sampled {
    /// `[draws]`: a token, or why none could be sampled.
    pub rows: Vec<Result<Token, SampleError>>,
}

/// Error of a row for which no token could be sampled; the row's sequence ends with it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SampleError {
    /// A logit is NaN or plus infinity.
    #[error("the model gave {logit} for token {id} at position {position}")]
    NotANumber {
        /// Value of the logit.
        logit: f32,
        /// Token id of the logit.
        id: u32,
        /// Position of the new token.
        position: usize,
    },
    /// Mask and edits leave no token that may come.
    #[error("no token may come at position {position}")]
    NoToken {
        /// Position of the new token.
        position: usize,
    },
}

/// Failure of a step. The sequences in all steps under way end with this error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// The batch is invalid.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// The draws don't fit the batch.
    #[error("{draws} draws with {edits} edits and {masks} masks don't fit {rows} rows of logits")]
    Draws {
        /// Number of draws.
        draws: usize,
        /// Number of edits.
        edits: usize,
        /// Number of masks.
        masks: usize,
        /// Number of rows of logits in the step.
        rows: usize,
    },
    /// The runner returned another number of rows than were drawn.
    #[error("the runner returned {found} rows, not {expected}")]
    Rows {
        /// Number of rows that were drawn.
        expected: usize,
        /// Number of rows that the runner returned.
        found: usize,
    },
    /// A method of the runner, named here, was called out of order.
    #[error("{0} was called before the step that it belongs to")]
    Order(&'static str),
    /// The device failed and can't be used again in this process: the engine ends.
    #[error("the device is lost: {0}; start the server again")]
    Lost(String),
    /// The device failed.
    #[error("the device failed: {0}")]
    Device(String),
}

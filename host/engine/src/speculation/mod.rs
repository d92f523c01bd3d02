//! Speculative decoding: draft tokens are run in the same step as a sequence's last token, and
//! accepted where they are also the tokens that the step samples.
//!
//! Verification is exact: each row's token is sampled as it would be without drafts (same logits,
//! seed, position, mask, edits), and a draft token is accepted only if it is the one sampled. So a
//! sequence's tokens never depend on its drafts, whatever these are and however long. Each sequence
//! owns one [`Speculation`]; the scheduler asks it for drafts (`scheduler/speculate.rs`) and tells
//! it how many tokens were accepted. The length of drafts follows from the sequence's own
//! acceptance ([`Pace`]), never from time.

mod pace;
mod prompt_lookup;
mod source;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::MaskError;
use crate::generation::TokenMask;
use crate::panics::panic_text;

use pace::Pace;
use prompt_lookup::PromptLookup;
use source::DraftSource;

/// Limits of speculative decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpeculationOptions {
    /// Maximum number of tokens in one sequence's draft; 0: no drafts.
    pub draft_tokens: usize,
    /// Maximum number of rows in a step for decoding sequences, one each, and their drafts: drafts
    /// get the rows that the sequences leave. With as many sequences as this or more, rejected
    /// drafts would only cost time.
    pub decode_rows: usize,
}

impl SpeculationOptions {
    /// No drafts.
    pub const OFF: Self = Self { draft_tokens: 0, decode_rows: 0 };
}

impl Default for SpeculationOptions {
    fn default() -> Self {
        Self { draft_tokens: 8, decode_rows: 16 }
    }
}

/// Drafts from a mask that allows only one text.
struct Forced<'a>(&'a mut dyn TokenMask);

impl DraftSource for Forced<'_> {
    fn propose(&mut self, _: &[u32], most: usize, draft: &mut Vec<u32>) {
        self.0.forced(draft, most);
    }
}

/// Which source made a draft.
#[derive(Debug, Clone, Copy, Default)]
enum DraftOrigin {
    Forced,
    #[default]
    Lookup,
}

/// Sequence for which a draft is made, and the draft's limits.
pub(crate) struct DraftRequest<'a> {
    /// Prompt and output so far, all known.
    pub(crate) tokens: &'a [u32],
    /// Ids that end the sequence: a draft ends before the first of them.
    pub(crate) stop_ids: &'a [u32],
    /// Mask of the sequence, which must allow the draft.
    pub(crate) mask: Option<&'a mut dyn TokenMask>,
    /// Maximum number of tokens in the draft.
    pub(crate) most: usize,
}

/// Speculation of one sequence. It depends on the sequence's tokens and not on KV blocks, so it
/// outlives a preemption.
#[derive(Debug, Default)]
pub(crate) struct Speculation {
    lookup: PromptLookup,
    lookup_pace: Pace,
    forced_pace: Pace,
    /// Source of the draft under way.
    source: DraftOrigin,
    /// With a runner that is one step ahead: length from which on the sequence waits until all its
    /// tokens are known, to get a draft.
    wait_from: usize,
}

/// Number of tokens from one wait for a draft to the next, where the first brings no successful
/// draft.
const WAIT_EVERY: usize = 16;

impl Speculation {
    /// Writes a draft into `draft`, or leaves it empty where no source has one or drafts don't pay
    /// at the moment.
    ///
    /// # Errors
    /// The mask panicked.
    pub(crate) fn draft(&mut self, request: DraftRequest<'_>, draft: &mut Vec<u32>) -> Result<(), MaskError> {
        draft.clear();
        let DraftRequest { tokens, stop_ids, mut mask, most } = request;
        let length = tokens.len();
        if let Some(mask) = mask.as_deref_mut() {
            let most = most.min(self.forced_pace.most(length));
            self.source = DraftOrigin::Forced;
            if most > 0 {
                guarded(|| Forced(mask).propose(tokens, most, draft))?;
                draft.truncate(most);
            }
        }
        if draft.is_empty() {
            self.source = DraftOrigin::Lookup;
            let most = most.min(self.lookup_pace.most(length));
            if most > 0 {
                self.lookup.propose(tokens, most, draft);
            }
        }
        if let Some(stop) = draft.iter().position(|id| stop_ids.contains(id)) {
            draft.truncate(stop);
        }
        if let Some(mask) = mask
            && !draft.is_empty()
        {
            let follows = guarded(|| mask.validate(draft))?;
            draft.truncate(follows);
        }
        Ok(())
    }

    /// Records that a sequence of `length` tokens, all known, may be given a draft now, and puts
    /// its next wait for one off.
    pub(crate) fn attempted(&mut self, length: usize) {
        self.wait_from = length + WAIT_EVERY;
    }

    /// Records that `accepted` of the last draft's `drafted` tokens were accepted; the sequence has
    /// `length` tokens now.
    pub(crate) fn record(&mut self, drafted: usize, accepted: usize, length: usize) {
        let pace = match self.source {
            DraftOrigin::Forced => &mut self.forced_pace,
            DraftOrigin::Lookup => &mut self.lookup_pace,
        };
        pace.record(drafted, accepted, length);
        if accepted * 2 >= drafted {
            self.wait_from = length;
        }
    }

    /// Whether a sequence of `length` tokens, the last of which is under way, waits for that one
    /// instead of going on without a draft.
    pub(crate) fn waits(&self, length: usize) -> bool {
        length >= self.wait_from && self.lookup_pace.most(length) > 0
    }
}

/// Calls a method of a mask. A mask is external code: its panic is an error of its own sequence.
pub(crate) fn guarded<T>(call: impl FnOnce() -> T) -> Result<T, MaskError> {
    catch_unwind(AssertUnwindSafe(call))
        .map_err(|panic| MaskError::Panicked(panic_text(panic.as_ref()).to_owned()))
}

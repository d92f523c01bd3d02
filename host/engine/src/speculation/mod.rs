//! Speculation: tokens that are likely to come are run together with the last one, and those that are drawn indeed are accepted, all in
//! one step.
//!
//! Verified exactly: each row's token is drawn as it would be without drafts (same logits, seed, position, mask, edits), and a draft
//! token counts only where it is the one drawn. So tokens never depend on drafts, whatever they are and however long.
//! Each sequence owns one [`Speculation`]; the scheduler asks it for drafts (`scheduler/speculate.rs`) and tells it what became of
//! them. How long drafts are follows from the sequence's own acceptance ([`Pace`]), never from time.

mod pace;
mod prompt_lookup;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::MaskError;
use crate::generation::TokenMask;
use crate::panics::panic_text;

use pace::Pace;
use prompt_lookup::PromptLookup;

/// Bounds of speculation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpeculationOptions {
    /// Tokens of one sequence's draft, at most; 0: no drafts.
    pub draft_tokens: usize,
    /// Rows of a step's decoding sequences, one each and their drafts, at most: drafts are made for what the sequences leave of these.
    /// A device that has as many rows to compute anyway would only lose time by those that are rejected.
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

/// Guesses how a sequence goes on.
trait DraftSource {
    /// Appends at most `most` tokens to an empty `draft` that may follow `tokens`, the sequence so far.
    fn propose(&mut self, tokens: &[u32], most: usize, draft: &mut Vec<u32>);
}

/// Tokens that a mask expects, since only one text may follow.
struct Forced<'a>(&'a mut dyn TokenMask);

impl DraftSource for Forced<'_> {
    fn propose(&mut self, _: &[u32], most: usize, draft: &mut Vec<u32>) {
        self.0.forced(draft, most);
    }
}

/// Which source made a draft.
#[derive(Debug, Clone, Copy, Default)]
enum Source {
    Forced,
    #[default]
    Lookup,
}

/// What a draft is made for.
pub(crate) struct DraftRequest<'a> {
    /// Prompt and output so far, all known.
    pub(crate) tokens: &'a [u32],
    /// Ids that end the sequence: nothing is drafted from the first on.
    pub(crate) stop_ids: &'a [u32],
    /// What the drafts have to follow.
    pub(crate) mask: Option<&'a mut dyn TokenMask>,
    /// Tokens, at most.
    pub(crate) most: usize,
}

/// One sequence's drafts. What it knows is in the sequence's tokens, so it outlives a preemption.
#[derive(Debug, Default)]
pub(crate) struct Speculation {
    lookup: PromptLookup,
    lookup_pace: Pace,
    forced_pace: Pace,
    /// Which made the draft under way.
    source: Source,
    /// With a runner that is ahead: the length from which on the sequence waits until all its tokens are known, to be given drafts.
    wait_from: usize,
}

/// Tokens between two waits for a draft that bring none.
const WAIT_EVERY: usize = 16;

impl Speculation {
    /// Writes a draft into `draft`, or leaves it empty where none is to be had or drafts don't pay at the moment.
    ///
    /// # Errors
    /// The mask panicked.
    pub(crate) fn draft(&mut self, request: DraftRequest<'_>, draft: &mut Vec<u32>) -> Result<(), MaskError> {
        draft.clear();
        let DraftRequest { tokens, stop_ids, mut mask, most } = request;
        let length = tokens.len();
        if let Some(mask) = mask.as_deref_mut() {
            let most = most.min(self.forced_pace.most(length));
            self.source = Source::Forced;
            if most > 0 {
                guarded(|| Forced(mask).propose(tokens, most, draft))?;
                draft.truncate(most);
            }
        }
        if draft.is_empty() {
            self.source = Source::Lookup;
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

    /// A sequence of `length` tokens, all of them known, may be given a draft now.
    pub(crate) fn attempted(&mut self, length: usize) {
        self.wait_from = length + WAIT_EVERY;
    }

    /// Of the last draft, `accepted` of `drafted` tokens came; the sequence has `length` tokens now.
    pub(crate) fn record(&mut self, drafted: usize, accepted: usize, length: usize) {
        let pace = match self.source {
            Source::Forced => &mut self.forced_pace,
            Source::Lookup => &mut self.lookup_pace,
        };
        pace.record(drafted, accepted, length);
        if accepted * 2 >= drafted {
            self.wait_from = length;
        }
    }

    /// Whether a sequence of `length` tokens, of which the last is on its way, rather waits for it than goes on without a draft.
    pub(crate) fn waits(&self, length: usize) -> bool {
        length >= self.wait_from && self.lookup_pace.most(length) > 0
    }
}

/// A mask is code from outside: its panic is an error of its own sequence.
pub(crate) fn guarded<T>(call: impl FnOnce() -> T) -> Result<T, MaskError> {
    catch_unwind(AssertUnwindSafe(call))
        .map_err(|panic| MaskError::Panicked(panic_text(panic.as_ref()).to_owned()))
}

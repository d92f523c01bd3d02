//! Buffers of a step's draws, and their contents for one sequence.

use std::task::{Context, Poll};

use super::in_flight::StepEntry;
use crate::error::MaskError;
use crate::generation::TokenMask;
use crate::runner::{Draw, Draws, Edit};
use crate::sequence::Sequence;
use crate::speculation::guarded;
use crate::token::SamplingParams;

/// Buffers for draws, reused from step to step.
#[derive(Debug)]
pub(super) struct DrawBuffers {
    /// Number of 32-bit words in a mask.
    words: usize,
    rows: Vec<Draw>,
    edits: Vec<Edit>,
    mask_rows: Vec<u32>,
    masks: Vec<u32>,
}

/// Draw of a row whose token is never read: its sequence has ended, or its mask is late.
const UNREAD: Draw = Draw { sampling: SamplingParams::GREEDY, position: 0, top_logprobs: None };

impl DrawBuffers {
    pub(super) fn new(vocab: usize) -> Self {
        Self {
            words: vocab.div_ceil(32),
            rows: Vec::new(),
            edits: Vec::new(),
            mask_rows: Vec::new(),
            masks: Vec::new(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.edits.clear();
        self.mask_rows.clear();
        self.masks.clear();
    }

    pub(super) fn lend(&self) -> Draws<'_> {
        Draws { rows: &self.rows, edits: &self.edits, mask_rows: &self.mask_rows, masks: &self.masks }
    }

    /// Appends the draws of one sequence's rows, each as if the draft tokens before it were
    /// accepted.
    pub(super) fn push(
        &mut self,
        entry: &mut StepEntry,
        sequence: Option<&mut Sequence>,
        cx: &mut Context<'_>,
    ) {
        let Some(sequence) = sequence else { return self.push_unread(entry) };
        if let Some(from) = entry.scores_from {
            return self.push_scores(entry, from, sequence);
        }
        if entry.rows.is_empty() {
            return;
        }
        if entry.error.is_none() {
            match sequence.poll_mask(cx) {
                Ok(Poll::Ready(())) => {}
                Ok(Poll::Pending) => {
                    entry.is_late = true;
                    entry.computed = sequence.wait_for_mask();
                    return self.push_unread(entry);
                }
                Err(error) => entry.error = sequence.mask_fault(error).map(Into::into),
            }
        }
        let known = sequence.tokens.len();
        sequence.tokens.extend_from_slice(&entry.draft);
        for (row, length) in entry.rows.clone().zip(known..) {
            self.rows.push(Draw {
                sampling: sequence.sampling,
                position: length,
                top_logprobs: sequence.top_logprobs,
            });
            if let Some(logits_state) = &mut sequence.logits_state {
                logits_state.push_edits(&sequence.tokens[..length], narrow(row), &mut self.edits);
            }
        }
        if let Some(logits_state) = &mut sequence.logits_state {
            logits_state.rollback(&sequence.tokens, known);
        }
        sequence.tokens.truncate(known);
        if let Some(mask) = sequence.mask.as_deref_mut()
            && entry.error.is_none()
            && let Err(error) = self.push_masks(entry, mask)
        {
            entry.error = sequence.mask_fault(error).map(Into::into);
            self.allow_all(entry);
        }
        sequence.steps_in_flight += 1;
    }

    /// Appends the draws of rows that score the tokens of a prompt behind position `from`: each
    /// takes the prompt's token.
    fn push_scores(&mut self, entry: &StepEntry, from: usize, sequence: &Sequence) {
        let top_logprobs = sequence.scores.as_ref().map(|scores| scores.top);
        for (row, position) in entry.rows.clone().zip(from + 1..) {
            self.rows.push(Draw { position, top_logprobs, ..UNREAD });
            self.edits.push(Edit::force(narrow(row), sequence.tokens[position]));
        }
    }

    fn push_unread(&mut self, entry: &StepEntry) {
        self.rows.extend(entry.rows.clone().map(|_| UNREAD));
    }

    /// Appends the masks of one sequence's rows. Where the mask fails behind the first row, the
    /// draft is cut before the failure. The error then shows when the sequence has come to that
    /// token, as it would without drafts.
    fn push_masks(&mut self, entry: &mut StepEntry, mask: &mut dyn TokenMask) -> Result<(), MaskError> {
        let mut advanced = 0;
        for (at, row) in entry.rows.clone().enumerate() {
            match self.push_mask(row, mask) {
                Ok(()) => {}
                Err(error) if at == 0 => return Err(error),
                Err(_) => {
                    entry.draft.truncate(at - 1);
                    break;
                }
            }
            let Some(token) = entry.draft.get(at) else { break };
            if guarded(|| mask.advance(*token)).flatten().is_err() {
                entry.draft.truncate(at);
                break;
            }
            advanced += 1;
        }
        if advanced > 0 { guarded(|| mask.rollback(advanced)).flatten() } else { Ok(()) }
    }

    /// Takes the masks of one sequence's rows back.
    fn allow_all(&mut self, entry: &StepEntry) {
        let from = narrow(entry.rows.start);
        let kept = self.mask_rows.partition_point(|row| *row < from);
        self.mask_rows.truncate(kept);
        self.masks.truncate(kept * self.words);
    }

    fn push_mask(&mut self, row: usize, mask: &mut dyn TokenMask) -> Result<(), MaskError> {
        let from = self.masks.len();
        self.masks.resize(from + self.words, u32::MAX);
        self.mask_rows.push(narrow(row));
        let allowed = &mut self.masks[from..];
        guarded(|| mask.apply(allowed)).flatten()
    }
}

fn narrow(row: usize) -> u32 {
    u32::try_from(row).expect("fewer rows than tokens")
}

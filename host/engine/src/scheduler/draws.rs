//! How the tokens of a step are chosen: parameters, edits and masks of its sequences, as data for the runner.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Scheduler;
use super::in_flight::StepEntry;
use crate::error::MaskError;
use crate::panics::panic_text;
use crate::runner::{Draw, Draws, Edit};
use crate::sequence::Sequence;
use crate::token::SamplingParams;

/// Buffers that are kept from step to step.
#[derive(Debug)]
pub(super) struct DrawBuffers {
    /// Words of a mask.
    words: usize,
    rows: Vec<Draw>,
    edits: Vec<Edit>,
    mask_rows: Vec<u32>,
    masks: Vec<u32>,
}

/// What stands where a sequence has ended while its row was computed: the token is never read.
const UNREAD: Draw = Draw { sampling: SamplingParams::GREEDY, position: 0, top_logprobs: None };

impl Scheduler {
    /// The draws of the step that was scheduled last. All tokens before those that it samples are known by now.
    pub(crate) fn draws(&mut self) -> Draws<'_> {
        let mut draws = std::mem::replace(&mut self.draws, DrawBuffers::new(0));
        draws.clear();
        if let Some(mut step) = self.steps_in_flight.pop_back() {
            step.drawn = true;
            for entry in &mut step.entries {
                draws.push(entry, self.lookup(entry.arrival));
            }
            self.steps_in_flight.push_back(step);
        }
        self.draws = draws;
        self.draws.lend()
    }
}

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

    fn clear(&mut self) {
        self.rows.clear();
        self.edits.clear();
        self.mask_rows.clear();
        self.masks.clear();
    }

    fn lend(&self) -> Draws<'_> {
        Draws { rows: &self.rows, edits: &self.edits, mask_rows: &self.mask_rows, masks: &self.masks }
    }

    /// The rows of one sequence. They are one so far: more have tokens between them that mask and edits would have to know.
    fn push(&mut self, entry: &mut StepEntry, sequence: Option<&mut Sequence>) {
        let Some(sequence) = sequence else {
            return self.rows.extend(entry.rows.clone().map(|_| UNREAD));
        };
        for row in entry.rows.clone() {
            let row = u32::try_from(row).expect("fewer rows than tokens");
            self.rows.push(Draw {
                sampling: sequence.sampling,
                position: sequence.tokens.len(),
                top_logprobs: sequence.top_logprobs,
            });
            if let Some(logits_state) = &mut sequence.logits_state {
                logits_state.push_edits(&sequence.tokens, row, &mut self.edits);
            }
            if let Err(error) = self.push_mask(row, sequence) {
                entry.error = Some(error.into());
            }
            sequence.tokens_in_flight += 1;
        }
    }

    /// A mask is code from outside: its panic ends its own sequence only.
    fn push_mask(&mut self, row: u32, sequence: &mut Sequence) -> Result<(), MaskError> {
        let Some(mask) = sequence.mask.as_deref_mut() else { return Ok(()) };
        let from = self.masks.len();
        self.masks.resize(from + self.words, u32::MAX);
        self.mask_rows.push(row);
        let allowed = &mut self.masks[from..];
        catch_unwind(AssertUnwindSafe(|| mask.apply(allowed)))
            .unwrap_or_else(|panic| Err(MaskError::Panicked(panic_text(panic.as_ref()).to_owned())))
    }
}

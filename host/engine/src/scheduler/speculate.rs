//! Which sequences of a step get drafts, and how long.
//!
//! Each decoding sequence has one row in any case. Drafts divide what is left of `decode_rows` and
//! of the step's tokens, and take no KV block that another sequence is about to need. With a runner
//! that is one step ahead, a sequence gets a draft only when all its tokens are known; a sequence
//! whose drafts were accepted waits until they are.

use super::budget::Budget;
use crate::blocks::BlockPool;
use crate::sequence::{MaskWait, Sequence};
use crate::speculation::SpeculationOptions;

/// Rows and KV blocks that the drafts of a step may take.
pub(super) struct DraftRoom {
    options: SpeculationOptions,
    /// Number of tokens in a KV block.
    block_size: usize,
    /// Number of tokens that fit into free KV blocks, less one block for each running sequence's
    /// next token.
    free: usize,
    /// Whether drafts are on, and `decode_rows` leaves rows for them beside one for each running
    /// sequence.
    any: bool,
}

impl DraftRoom {
    pub(super) fn of(running: &[Sequence], pool: &BlockPool, options: SpeculationOptions) -> Self {
        let block_size = pool.block_size();
        let free = pool.free_blocks().saturating_sub(running.len()) * block_size;
        let any = options.draft_tokens > 0 && options.decode_rows > running.len();
        Self { options, block_size, free, any }
    }

    /// Whether a sequence that could go on waits for its token under way instead, to get a draft.
    pub(super) fn waits(&self, sequence: &Sequence) -> bool {
        self.any && sequence.steps_in_flight > 0 && sequence.speculation.waits(sequence.length())
    }

    /// Divides the rows for drafts among the sequences that decode in this step, and makes their
    /// drafts.
    pub(super) fn draft(&self, decoding: Vec<&mut Sequence>, budget: &mut Budget) {
        let mut rows = self.options.decode_rows.saturating_sub(decoding.len()).min(budget.tokens);
        let is_able = |one: &&mut Sequence| {
            one.scheduled == 1 && one.steps_in_flight == 0 && one.mask_wait == MaskWait::No
        };
        let mut able: Vec<_> = decoding.into_iter().filter(is_able).collect();
        while let Some(sequence) = able.pop() {
            let share = rows.div_ceil(able.len() + 1).min(self.options.draft_tokens);
            sequence.plan_draft(share, sequence.table.blocks().len() * self.block_size + self.free);
            rows -= sequence.draft.len();
            budget.tokens -= sequence.draft.len();
        }
    }
}

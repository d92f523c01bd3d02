//! Which sequences of a step get drafts, and how long.
//!
//! Drafts come after the one token that each decoding sequence has in any case, share what is left of the rows that they are allowed
//! to have together, and take no block that another sequence is about to need. With a runner that is a step ahead, a sequence gets one
//! only when all its tokens are known; one whose drafts were accepted waits for that.

use super::plan::Budget;
use crate::blocks::BlockPool;
use crate::sequence::{MaskWait, Sequence};
use crate::speculation::SpeculationOptions;

/// What drafts of a step may take.
pub(super) struct DraftRoom {
    options: SpeculationOptions,
    /// Tokens of a block.
    block_size: usize,
    /// Tokens in blocks that are free, and that no running sequence needs for its next token.
    free: usize,
    /// There may be drafts beside one row for each running sequence.
    any: bool,
}

impl DraftRoom {
    pub(super) fn of(running: &[Sequence], pool: &BlockPool, options: SpeculationOptions) -> Self {
        let block_size = pool.block_size();
        let free = pool.free_blocks().saturating_sub(running.len()) * block_size;
        let any = options.draft_tokens > 0 && options.decode_rows > running.len();
        Self { options, block_size, free, any }
    }

    /// Whether a sequence that could go on waits for the token on its way instead, to get a draft.
    pub(super) fn waits(&self, sequence: &Sequence) -> bool {
        self.any && sequence.steps_in_flight > 0 && sequence.speculation.waits(sequence.length())
    }

    /// Shares rows out among sequences that decode in this step.
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

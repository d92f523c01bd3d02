//! What each principal's running sequences hold: slots of a step and KV blocks. A principal's share
//! is that of the resource of which it holds the larger part (dominant resource fairness; Ghodsi et
//! al. 2011). Paused sequences don't count: anyone may have their blocks.

use std::collections::HashMap;

use crate::blocks::BlockPool;
use crate::options::LocalOptions;
use crate::sequence::Sequence;

/// Slots and KV blocks by principal.
#[derive(Debug)]
pub(super) struct Holdings {
    held: HashMap<u64, Held>,
    /// Number of sequences in a step, and of KV blocks.
    total: Held,
}

#[derive(Debug, Clone, Copy, Default)]
struct Held {
    slots: usize,
    blocks: usize,
}

impl Holdings {
    pub(super) fn of(running: &[Sequence], options: &LocalOptions, pool: &BlockPool) -> Self {
        let mut held: HashMap<u64, Held> = HashMap::new();
        for one in running.iter().filter(|one| one.lane.is_some() && !one.paused) {
            let own = held.entry(one.principal).or_default();
            own.slots += 1;
            own.blocks += one.table.blocks().len();
        }
        Self { held, total: Held { slots: options.sequences, blocks: pool.total_blocks() } }
    }

    /// Whether sequences of several principals run.
    pub(super) fn are_shared(&self) -> bool {
        self.held.len() > 1
    }

    /// Whether sequences of another principal run.
    pub(super) fn has_others(&self, principal: u64) -> bool {
        self.held.keys().any(|one| *one != principal)
    }

    /// A principal's share, as a number that is compared with other shares only.
    pub(super) fn share(&self, principal: u64) -> usize {
        self.share_with(principal, 0, 0)
    }

    /// The share that a principal would have with one more sequence of `blocks` blocks.
    pub(super) fn share_with_one_more(&self, principal: u64, blocks: usize) -> usize {
        self.share_with(principal, 1, blocks)
    }

    /// Removes one sequence of a principal.
    pub(super) fn remove(&mut self, sequence: &Sequence) {
        if let Some(own) = self.held.get_mut(&sequence.principal) {
            own.slots -= 1;
            own.blocks -= sequence.table.blocks().len();
        }
    }

    /// Slots and blocks are compared as if there were as many of both.
    fn share_with(&self, principal: u64, slots: usize, blocks: usize) -> usize {
        let own = self.held.get(&principal).copied().unwrap_or_default();
        ((own.slots + slots) * self.total.blocks).max((own.blocks + blocks) * self.total.slots)
    }
}

//! What one sequence holds of a pool: its blocks, and the snapshot that it goes on from. Only the
//! pool changes it.

/// Block table of one sequence: its KV blocks in order of positions.
#[derive(Debug, Default)]
pub(crate) struct BlockTable {
    pub(super) blocks: Vec<u32>,
    /// Number of leading blocks that are in the prefix cache.
    pub(super) known: usize,
    /// Identity of the tokens in these leading blocks; 0 where there are none.
    pub(super) prefix: u64,
    /// Salt of the tables that share blocks with this one.
    pub(super) salt: u64,
    /// Number of leading blocks that were sent to the runner.
    pub(super) sent: usize,
    /// Number of leading blocks that were in the prefix cache when the table was filled, whether a
    /// snapshot covered them or not.
    pub(super) matched: usize,
    /// Snapshot that the sequence goes on from, until it is loaded.
    pub(super) load: Option<Load>,
    /// Identity of the tokens that the last snapshot of the answer has seen.
    pub(super) answer: Option<u64>,
}

/// A snapshot to load.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) identity: u64,
    pub(super) snapshot: u32,
}

impl BlockTable {
    /// An empty table that shares blocks with tables of this salt.
    pub(crate) fn salted(salt: u64) -> Self {
        Self { salt, ..Self::default() }
    }

    /// Numbers of the KV blocks, in order of positions.
    pub(crate) fn blocks(&self) -> &[u32] {
        &self.blocks
    }

    /// Number of leading blocks that were in the prefix cache when the table was filled.
    pub(crate) fn matched_blocks(&self) -> usize {
        self.matched
    }

    /// The snapshot that the step being built must load.
    pub(crate) fn snapshot_to_load(&self) -> Option<u32> {
        self.load.map(|load| load.snapshot)
    }

    /// Blocks that are new or replaced since the last call, as (index in the table, block).
    pub(crate) fn changes(&mut self) -> impl Iterator<Item = (usize, u32)> {
        let from = std::mem::replace(&mut self.sent, self.blocks.len());
        self.blocks.iter().copied().enumerate().skip(from)
    }
}

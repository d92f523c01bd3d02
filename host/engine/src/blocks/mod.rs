//! Blocks of the paged KV cache: their reference counts, and the prefix cache, through which
//! sequences with the same beginning share them.
//!
//! The prefix cache is a map from (salt, identity of all tokens before, the block's own tokens) to
//! the block that has their keys and values. Identities are numbers that are never used twice, so a
//! hit is exact even if hashes collide, and hits stay within a salt. Invariants: a block is either
//! free or referred to; a cached block contains what its key says (only full, computed blocks are
//! cached, and they are never written again); a freed block stays cached until it is needed for
//! something else, the longest unused first. Where layers keep states, blocks are reused only up to
//! a snapshot of these (`blocks/snapshots.rs`).

mod snapshots;
mod table;

use std::collections::{BTreeSet, HashMap};

pub(crate) use snapshots::SnapshotKind;
use snapshots::{SnapshotPlace, Snapshots};
pub(crate) use table::BlockTable;
use table::Load;

/// All blocks of one cache.
#[derive(Debug)]
pub(crate) struct BlockPool {
    block_size: usize,
    prefix_cache: bool,
    blocks: Vec<Block>,
    /// Free blocks as (time of freeing, number), reused in this order; blocks that aren't cached
    /// have time 0.
    free: BTreeSet<(u64, u32)>,
    cached: HashMap<Prefix, u32>,
    clock: u64,
    identities: u64,
    /// Snapshots of states; `None` for layers that keep keys and values only.
    snapshots: Option<Snapshots>,
}

/// Key of a cached block: its salt, the identity of the tokens before it (0: none) and its tokens.
type Prefix = (u64, u64, Box<[u32]>);

#[derive(Debug, Default)]
struct Block {
    refs: u32,
    freed: u64,
    content: Option<(Prefix, u64)>,
}

impl BlockPool {
    /// A pool of free blocks without content.
    pub(crate) fn new(blocks: usize, block_size: usize, prefix_cache: bool) -> Self {
        let count = u32::try_from(blocks).expect("a cache has fewer than 2^32 blocks");
        Self {
            block_size,
            prefix_cache,
            blocks: (0..count).map(|_| Block::default()).collect(),
            free: (0..count).map(|block| (0, block)).collect(),
            cached: HashMap::new(),
            clock: 0,
            identities: 0,
            snapshots: None,
        }
    }

    /// The same pool for layers that keep states, of which there are this many snapshots.
    pub(crate) fn with_snapshots(self, count: usize) -> Self {
        Self { snapshots: Some(Snapshots::new(count)), ..self }
    }

    /// Number of blocks without references.
    pub(crate) fn free_blocks(&self) -> usize {
        self.free.len()
    }

    /// Number of all blocks.
    pub(crate) fn total_blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Number of blocks that the prefix cache can find.
    pub(crate) fn cached_blocks(&self) -> usize {
        self.cached.len()
    }

    /// Number of tokens in a block.
    pub(crate) fn block_size(&self) -> usize {
        self.block_size
    }

    /// Number of blocks that `tokens` tokens take.
    pub(crate) fn blocks_for(&self, tokens: usize) -> usize {
        tokens.div_ceil(self.block_size)
    }

    /// Number of blocks that would become free if this table were freed.
    pub(crate) fn reclaimable(&self, table: &BlockTable) -> usize {
        table.blocks.iter().filter(|&&block| self.blocks[block as usize].refs == 1).count()
    }

    /// Number of free blocks that [`Self::allocate`] needs for `tokens`.
    pub(crate) fn needed(&self, table: &BlockTable, tokens: &[u32], reusable: usize) -> usize {
        self.needed_beside(&self.covered(self.lookup(table.salt, &tokens[..reusable])), tokens)
    }

    /// Number of free blocks that `tokens` need beside the cached blocks `shared`, of which some
    /// are free themselves.
    fn needed_beside(&self, shared: &[u32], tokens: &[u32]) -> usize {
        let idle = shared.iter().filter(|&&block| self.blocks[block as usize].refs == 0).count();
        self.blocks_for(tokens.len()) - shared.len() + idle
    }

    /// Fills an empty table with blocks for `tokens`, if `reserve` more remain free. Returns how
    /// many of the first `reusable` tokens the prefix cache has already. These are never all
    /// tokens, since the last one must be run to get its logits.
    pub(crate) fn allocate(
        &mut self,
        table: &mut BlockTable,
        tokens: &[u32],
        reusable: usize,
        reserve: usize,
    ) -> Option<usize> {
        debug_assert!(table.blocks.is_empty(), "a table is filled once");
        debug_assert!(reusable < tokens.len(), "the last token is run");
        let matched = self.lookup(table.salt, &tokens[..reusable]);
        table.matched = matched.len();
        let shared = self.covered(matched);
        if self.needed_beside(&shared, tokens) + reserve > self.free.len() {
            return None;
        }
        for &block in &shared {
            self.add_ref(block);
        }
        let last = shared.last().and_then(|&block| self.blocks[block as usize].content.as_ref());
        table.prefix = last.map_or(0, |(_, identity)| *identity);
        let snapshot = self.snapshots.as_mut().and_then(|all| all.begin_load(table.prefix));
        table.load = snapshot.map(|snapshot| Load { identity: table.prefix, snapshot });
        table.known = shared.len();
        table.blocks = shared;
        let grown = self.grow(table, tokens.len());
        debug_assert!(grown, "counted above");
        Some(table.known * self.block_size)
    }

    /// Adds blocks to a table until it holds `tokens` tokens; false when none is free.
    pub(crate) fn grow(&mut self, table: &mut BlockTable, tokens: usize) -> bool {
        while table.blocks.len() < self.blocks_for(tokens) {
            let Some(block) = self.pop_free() else { return false };
            table.blocks.push(block);
        }
        true
    }

    /// Adds the full blocks among the first `computed` of `tokens` to the prefix cache. Where
    /// another sequence has already added a block with the same content, that block replaces this
    /// table's copy.
    pub(crate) fn publish(&mut self, table: &mut BlockTable, tokens: &[u32], computed: usize) {
        while self.prefix_cache && (table.known + 1) * self.block_size <= computed {
            let from = table.known * self.block_size;
            let prefix: Prefix = (table.salt, table.prefix, tokens[from..from + self.block_size].into());
            let own = &mut table.blocks[table.known];
            if let Some(&known) = self.cached.get(&prefix) {
                table.sent = table.sent.min(table.known);
                self.add_ref(known);
                self.unref(std::mem::replace(own, known));
            } else {
                self.identities += 1;
                self.blocks[*own as usize].content = Some((prefix.clone(), self.identities));
                self.cached.insert(prefix, *own);
            }
            let content = self.blocks[*own as usize].content.as_ref();
            table.prefix = content.expect("it was just found or filled").1;
            table.known += 1;
        }
    }

    /// Empties a table. Its last blocks are reused first, since they can't be found without the
    /// blocks before them.
    pub(crate) fn free(&mut self, table: &mut BlockTable) {
        self.end_load(table);
        while let Some(block) = table.blocks.pop() {
            self.unref(block);
        }
        *table = BlockTable::salted(table.salt);
    }

    /// Finds the blocks of the longest cached beginning of `tokens`.
    fn lookup(&self, salt: u64, tokens: &[u32]) -> Vec<u32> {
        let mut blocks = Vec::new();
        let mut identity = 0;
        if !self.prefix_cache {
            return blocks;
        }
        for own in tokens.chunks_exact(self.block_size) {
            let Some(&block) = self.cached.get(&(salt, identity, own.into())) else { break };
            identity = self.blocks[block as usize].content.as_ref().expect("found blocks have content").1;
            blocks.push(block);
        }
        blocks
    }

    /// The first of these cached blocks that a snapshot covers; all of them for layers that keep
    /// keys and values only.
    fn covered(&self, mut blocks: Vec<u32>) -> Vec<u32> {
        if let Some(snapshots) = &self.snapshots {
            let is_end = |block: &u32| snapshots.has(self.identity(*block));
            blocks.truncate(blocks.iter().rposition(is_end).map_or(0, |at| at + 1));
        }
        blocks
    }

    /// Identity of the tokens up to the end of a cached block.
    fn identity(&self, block: u32) -> u64 {
        self.blocks[block as usize].content.as_ref().map_or(0, |(_, identity)| *identity)
    }

    /// Ends the load of a table's snapshot, once the step being built loads it: what the step saves
    /// may be saved there.
    pub(crate) fn end_load(&mut self, table: &mut BlockTable) {
        if let (Some(load), Some(all)) = (table.load.take(), &mut self.snapshots) {
            all.end_load(load.identity);
        }
    }

    /// Takes a snapshot to save a state in that has seen a table's first `tokens` tokens, which
    /// [`Self::keep_snapshot`] or [`Self::drop_snapshot`] gets back. `None` where none may be given
    /// up for it, and without a prefix cache.
    pub(crate) fn take_snapshot(
        &mut self,
        table: &BlockTable,
        tokens: usize,
        kind: SnapshotKind,
    ) -> Option<u32> {
        let all = self.snapshots.as_mut().filter(|_| self.prefix_cache)?;
        all.take_free().or_else(|| {
            let path = self.path(table);
            let blocks = tokens / self.block_size;
            self.snapshots.as_mut()?.take(SnapshotPlace { path: &path, blocks, kind })
        })
    }

    /// Gives back a snapshot that wasn't saved.
    pub(crate) fn drop_snapshot(&mut self, snapshot: u32) {
        self.snapshots.iter_mut().for_each(|all| all.give_back(snapshot));
    }

    /// Keeps a snapshot of a table's first `tokens` tokens, whose blocks are published. One of an
    /// answer replaces the table's last one of this kind.
    pub(crate) fn keep_snapshot(
        &mut self,
        table: &mut BlockTable,
        (snapshot, tokens): (u32, usize),
        kind: SnapshotKind,
    ) {
        let blocks = tokens / self.block_size;
        debug_assert!(blocks > 0 && blocks <= table.known, "its blocks are in the prefix cache");
        let path = self.path(table);
        let Some(all) = &mut self.snapshots else { return };
        if kind == SnapshotKind::Answer
            && let Some(last) = table.answer.replace(path[blocks - 1])
        {
            all.forget(last);
        }
        all.keep(snapshot, SnapshotPlace { path: &path, blocks, kind });
    }

    /// Identities of all tokens up to the end of each of a table's blocks that are cached.
    fn path(&self, table: &BlockTable) -> Vec<u64> {
        table.blocks[..table.known].iter().map(|block| self.identity(*block)).collect()
    }

    /// Number of snapshots that aren't being saved, and of those about to be loaded.
    #[cfg(test)]
    pub(crate) fn snapshot_counts(&self) -> (usize, usize) {
        self.snapshots.as_ref().map_or((0, 0), Snapshots::counts)
    }

    /// Checks that each block's reference count is the number of `tables` that have it, and that
    /// the block is free where none has it.
    #[cfg(test)]
    pub(crate) fn audit<'a>(&self, tables: impl Iterator<Item = &'a BlockTable>) {
        let mut held = vec![0; self.blocks.len()];
        for table in tables {
            table.blocks.iter().for_each(|block| held[*block as usize] += 1);
        }
        for ((number, block), held) in (0..).zip(&self.blocks).zip(held) {
            assert_eq!(block.refs, held, "references to block {number}");
            assert_eq!(self.free.contains(&(block.freed, number)), held == 0, "whether {number} is free");
        }
        assert_eq!(self.free.len(), self.blocks.iter().filter(|block| block.refs == 0).count());
    }

    fn add_ref(&mut self, number: u32) {
        let block = &mut self.blocks[number as usize];
        if block.refs == 0 {
            self.free.remove(&(block.freed, number));
        }
        block.refs += 1;
    }

    fn unref(&mut self, number: u32) {
        let block = &mut self.blocks[number as usize];
        block.refs -= 1;
        if block.refs == 0 {
            self.clock += 1;
            block.freed = if block.content.is_some() { self.clock } else { 0 };
            self.free.insert((block.freed, number));
        }
    }

    fn pop_free(&mut self) -> Option<u32> {
        let (_, number) = self.free.pop_first()?;
        let block = &mut self.blocks[number as usize];
        block.refs = 1;
        if let Some((prefix, identity)) = block.content.take() {
            self.cached.remove(&prefix);
            self.snapshots.iter_mut().for_each(|all| all.forget(identity));
        }
        Some(number)
    }
}

#[cfg(test)]
mod tests;

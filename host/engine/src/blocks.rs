//! Blocks of the paged KV cache: their reference counts, and the prefix cache, through which
//! sequences with the same beginning share them.
//!
//! The prefix cache is a map from (salt, identity of all tokens before, the block's own tokens) to
//! the block that has their keys and values. Identities are numbers that are never used twice, so a
//! hit is exact even if hashes collide, and hits stay within a salt. Invariants: a block is either
//! free or referred to; a cached block contains what its key says (only full, computed blocks are
//! cached, and they are never written again); a freed block stays cached until it is needed for
//! something else, the longest unused first.

use std::collections::{BTreeSet, HashMap};

/// Block table of one sequence: its KV blocks in order of positions.
#[derive(Debug, Default)]
pub(crate) struct BlockTable {
    blocks: Vec<u32>,
    /// Number of leading blocks that are in the prefix cache.
    known: usize,
    /// Identity of the tokens in these leading blocks; 0 where there are none.
    prefix: u64,
    /// Salt of the tables that share blocks with this one.
    salt: u64,
    /// Number of leading blocks that were sent to the runner.
    sent: usize,
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

    /// Blocks that are new or replaced since the last call, as (index in the table, block).
    pub(crate) fn changes(&mut self) -> impl Iterator<Item = (usize, u32)> {
        let from = std::mem::replace(&mut self.sent, self.blocks.len());
        self.blocks.iter().copied().enumerate().skip(from)
    }
}

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
        }
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
        self.needed_beside(&self.lookup(table.salt, &tokens[..reusable]), tokens)
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
        let shared = self.lookup(table.salt, &tokens[..reusable]);
        if self.needed_beside(&shared, tokens) + reserve > self.free.len() {
            return None;
        }
        for &block in &shared {
            self.add_ref(block);
        }
        let last = shared.last().and_then(|&block| self.blocks[block as usize].content.as_ref());
        table.prefix = last.map_or(0, |(_, identity)| *identity);
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
        if let Some((prefix, _)) = block.content.take() {
            self.cached.remove(&prefix);
        }
        Some(number)
    }
}

#[cfg(test)]
mod tests;

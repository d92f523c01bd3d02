//! The block pool: shared beginnings, which blocks are found again, and which are reused first.

use super::*;

fn opened(pool: &mut BlockPool, tokens: &[u32]) -> (BlockTable, usize) {
    let mut table = BlockTable::default();
    let cached = pool.allocate(&mut table, tokens, tokens.len() - 1, 0).expect("enough blocks");
    pool.publish(&mut table, tokens, tokens.len());
    (table, cached)
}

#[test]
fn known_beginning_is_shared_but_last_token_computed() {
    let mut pool = BlockPool::new(8, 2, true);
    let (first, cached) = opened(&mut pool, &[1, 2, 3, 4]);
    assert_eq!(cached, 0);
    let (second, cached) = opened(&mut pool, &[1, 2, 3, 4]);
    assert_eq!(cached, 2, "the second block holds the last token");
    assert_eq!(second.blocks(), first.blocks(), "and is shared once computed");
    assert_eq!(pool.free_blocks(), 6);
}

#[test]
fn same_tokens_after_others_are_another_block() {
    let mut pool = BlockPool::new(8, 2, true);
    opened(&mut pool, &[1, 2, 3, 4, 5]);
    let (_, cached) = opened(&mut pool, &[9, 9, 3, 4, 5]);
    assert_eq!(cached, 0);
}

#[test]
fn freed_blocks_are_found_until_reused_oldest_first() {
    let mut pool = BlockPool::new(4, 2, true);
    let (mut old, _) = opened(&mut pool, &[1, 2, 3]);
    let (mut new, _) = opened(&mut pool, &[5, 6, 7]);
    pool.free(&mut old);
    pool.free(&mut new);
    assert_eq!((pool.free_blocks(), pool.cached_blocks()), (4, 2));
    let (mut other, _) = opened(&mut pool, &[8, 8, 8, 8, 8, 8]);
    pool.free(&mut other);
    assert_eq!(pool.lookup(0, &[1, 2, 3]), [] as [u32; 0], "the oldest content went");
    assert_eq!(pool.lookup(0, &[5, 6, 7]).len(), 1);
}

#[test]
fn sequence_end_is_forgotten_before_its_beginning() {
    let mut pool = BlockPool::new(3, 1, true);
    let (mut table, _) = opened(&mut pool, &[1, 2, 3]);
    pool.free(&mut table);
    opened(&mut pool, &[7]);
    assert_eq!(pool.lookup(0, &[1, 2, 3, 4]).len(), 2);
}

#[test]
fn nothing_is_taken_when_there_is_too_little() {
    let mut pool = BlockPool::new(3, 2, true);
    let mut table = BlockTable::default();
    assert_eq!(pool.allocate(&mut table, &[1; 7], 6, 0), None);
    assert_eq!(pool.allocate(&mut table, &[1; 6], 5, 1), None);
    assert_eq!((pool.free_blocks(), table.blocks().len()), (3, 0));
}

#[test]
fn blocks_are_shared_within_a_salt_only() {
    let mut pool = BlockPool::new(16, 2, true);
    for cached in [0, 4] {
        for salt in [0, 1, u64::MAX] {
            let mut table = BlockTable::salted(salt);
            assert_eq!(pool.allocate(&mut table, &[1, 2, 3, 4, 5], 4, 0), Some(cached), "salt {salt}");
            pool.publish(&mut table, &[1, 2, 3, 4, 5], 5);
            pool.free(&mut table);
        }
    }
}

#[test]
fn without_a_prefix_cache_nothing_is_shared() {
    let mut pool = BlockPool::new(8, 2, false);
    opened(&mut pool, &[1, 2, 3]);
    assert_eq!(opened(&mut pool, &[1, 2, 3]).1, 0);
    assert_eq!((pool.free_blocks(), pool.cached_blocks()), (4, 0));
}

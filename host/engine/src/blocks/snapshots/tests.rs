//! Which snapshots are kept: each test names sequences by the identities of their blocks.

use super::*;
use SnapshotKind::{Answer, Departure, End, Prompt, TurnEnd};

/// Identities of the first `blocks` blocks of a conversation, which shares them with no other.
fn path(conversation: u64, blocks: usize) -> Vec<u64> {
    (1..).map(|block| conversation * 1000 + block).take(blocks).collect()
}

/// Saves a snapshot of a path. Returns whether it is kept.
fn save(all: &mut Snapshots, path: &[u64], kind: SnapshotKind) -> bool {
    let place = SnapshotPlace { path, blocks: path.len(), kind };
    let number = all.take_free().or_else(|| all.take(place));
    if let Some(number) = number {
        all.keep(number, place);
    }
    number.is_some()
}

/// A sequence goes on from the snapshot of a path; false if there is none.
fn load(all: &mut Snapshots, path: &[u64]) -> bool {
    let identity = path[path.len() - 1];
    let found = all.begin_load(identity).is_some();
    if found {
        all.end_load(identity);
    }
    found
}

fn has(all: &Snapshots, path: &[u64]) -> bool {
    all.has(path[path.len() - 1])
}

#[test]
fn the_least_loss_of_tokens_is_chosen() {
    let mut all = Snapshots::new(3);
    for blocks in [300, 303, 315] {
        assert!(save(&mut all, &path(1, blocks), Answer));
    }
    assert!(save(&mut all, &path(2, 5), Answer));
    assert!(!has(&all, &path(1, 303)), "three blocks behind the one before, twelve before the next");
    assert!(save(&mut all, &path(3, 60), Answer));
    assert!(!has(&all, &path(2, 5)) && has(&all, &path(1, 315)), "that one has fifteen now");
    assert!(!save(&mut all, &path(4, 10), Answer), "less than any other");
}

#[test]
fn a_beginning_counts_only_behind_others() {
    let mut all = Snapshots::new(3);
    assert!(save(&mut all, &path(1, 100), Answer) && save(&mut all, &path(2, 50), Answer));
    assert!(save(&mut all, &path(1, 98), Answer));
    assert!(save(&mut all, &path(3, 3), Answer), "a later one of 98 blocks leaves two to that of 100");
    assert!(!has(&all, &path(1, 100)));
}

#[test]
fn a_turn_takes_the_place_of_the_one_before() {
    let mut all = Snapshots::new(2);
    for conversation in [1, 2] {
        all.begin_load(0);
        assert!(save(&mut all, &path(conversation, 10), TurnEnd));
    }
    for (blocks, conversation) in [(10, 1), (10, 2), (20, 1), (20, 2)] {
        assert!(load(&mut all, &path(conversation, blocks)), "{blocks} of {conversation}");
        assert!(save(&mut all, &path(conversation, blocks + 10), TurnEnd));
    }
}

#[test]
fn a_turns_snapshot_stays_until_the_next_turns() {
    let mut all = Snapshots::new(6);
    for (blocks, kind, loads) in [(10, End, 1), (20, TurnEnd, 2), (30, End, 2)] {
        assert!(save(&mut all, &path(1, blocks), kind));
        for _ in 0..loads {
            assert!(load(&mut all, &path(1, blocks)));
        }
    }
    let ranks = |all: &Snapshots| [10, 20, 30].map(|blocks| all.kept[&(1000 + blocks)].rank);
    assert!(save(&mut all, &path(1, 40), End));
    assert_eq!(ranks(&all), [Rank::Spare, Rank::Turn, Rank::Wanted], "two went on from the last");
    assert!(save(&mut all, &path(1, 50), TurnEnd));
    assert_eq!(ranks(&all), [Rank::Spare, Rank::Spare, Rank::Wanted]);
}

#[test]
fn what_comes_back_stays_beside_what_does_not() {
    let mut all = Snapshots::new(4);
    let mut blocks = 10;
    assert!(save(&mut all, &path(1, blocks), TurnEnd));
    for once in 2..40 {
        all.begin_load(0);
        save(&mut all, &path(once, 12), TurnEnd);
        if once % 3 == 0 {
            assert!(load(&mut all, &path(1, blocks)), "before request {once}");
            blocks += 4;
            assert!(save(&mut all, &path(1, blocks), TurnEnd));
        }
    }
}

#[test]
fn what_is_not_used_any_more_makes_room() {
    let mut all = Snapshots::new(2);
    for blocks in [200, 210] {
        assert!(save(&mut all, &path(1, blocks), TurnEnd));
        assert!(load(&mut all, &path(1, blocks)));
    }
    for one in 2..30 {
        all.begin_load(0);
        save(&mut all, &path(one, 12), TurnEnd);
    }
    assert!(!has(&all, &path(1, 200)) && !has(&all, &path(1, 210)));
}

#[test]
fn a_departure_is_kept_for_a_third_sequence() {
    let mut all = Snapshots::new(2);
    let departing = |one: u64| [path(1, 50), path(one, 3)].concat();
    assert!(save(&mut all, &departing(2), TurnEnd) && save(&mut all, &path(1, 50), Departure));
    for one in 3..9 {
        assert!(load(&mut all, &path(1, 50)), "of {one}");
        save(&mut all, &departing(one), TurnEnd);
        assert!(!save(&mut all, &path(90 + one, 9), Prompt), "a spare one is worth less");
    }
}

#[test]
fn what_is_about_to_be_loaded_stays() {
    let mut all = Snapshots::new(1);
    let (one, other) = (path(7, 64), path(8, 64));
    let other = SnapshotPlace { path: &other, blocks: 64, kind: End };
    assert!(save(&mut all, &one, End));
    let number = all.begin_load(7064);
    assert_eq!((number.is_some(), all.begin_load(7064), all.begin_load(8064)), (true, number, None));
    all.end_load(7064);
    all.forget(7064);
    assert_eq!((all.take(other), all.counts()), (None, (1, 1)));
    all.end_load(7064);
    all.forget(7064);
    assert_eq!((all.take_free(), all.has(7064)), (number, false));
}

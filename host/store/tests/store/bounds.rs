//! Bytes and age: what is evicted, in which order, and what never is.

use std::time::Duration;

use store::{
    Bounds, Budget, Evicted, Full, ITEM_BYTES, Link, Owner, Page, Purge, ROW_BYTES, Status, StoreError,
};

use crate::kit::{Kit, conversation, each, end, item, named, new, parent};

const DAY: Duration = Duration::from_hours(24);

/// Counted bytes of a completed response of the kit whose id has one character.
fn one() -> u64 {
    ROW_BYTES
        + "request a".len() as u64
        + "result a".len() as u64
        + 2 * ITEM_BYTES
        + ("a-in".len() + "body of a-in".len() + "a-out".len() + "body of a-out".len()) as u64
}

async fn stored(kit: &Kit, ids: &str) -> String {
    let mut stored = String::new();
    for id in ids.chars() {
        // Without a read that renews the age: an id that is taken is a duplicate.
        let taken = kit.store.context(&kit.owner, &parent(&id.to_string()), Budget::default()).await;
        stored.extend(taken.is_ok().then_some(id));
    }
    stored
}

#[tokio::test]
async fn bytes_are_counted_exactly() {
    each(Bounds::default(), async |kit| {
        kit.complete("a", Link::Alone).await;
        kit.store.conversation_create(&kit.owner, "v", b"meta".to_vec(), vec![item("e")]).await.unwrap();
        let conversation = ROW_BYTES + 4 + ITEM_BYTES + ("e".len() + "body of e".len()) as u64;
        assert_eq!(kit.store.stats().await.unwrap().owners, [(kit.owner.clone(), one() + conversation)]);
    })
    .await;
}

#[tokio::test]
async fn the_leaf_that_wasnt_used_for_longest_is_evicted() {
    each(Bounds { owner_bytes: 4 * one(), ..Bounds::default() }, async |kit| {
        for (id, link) in [("a", Link::Alone), ("b", Link::Alone), ("c", parent("a")), ("d", Link::Alone)] {
            kit.complete(id, link).await;
            kit.clock.advance(DAY);
        }
        // `a` is the oldest, and needed by `c`.
        kit.complete("e", Link::Alone).await;
        assert_eq!(stored(kit, "abcde").await, "acde");
        // A read renews.
        kit.store.response(&kit.owner, "c", Budget::default()).await.unwrap();
        kit.clock.advance(DAY);
        kit.complete("f", Link::Alone).await;
        assert_eq!(stored(kit, "abcdef").await, "acef");
        let evicted = kit.store.stats().await.unwrap().evicted;
        assert_eq!(evicted, Evicted { responses: 2, ..Evicted::default() });
    })
    .await;
}

#[tokio::test]
async fn what_runs_and_what_it_needs_is_never_evicted() {
    each(Bounds { owner_bytes: 3 * one(), ..Bounds::default() }, async |kit| {
        kit.complete("a", Link::Alone).await;
        let lease = kit.create("b", parent("a")).await.unwrap();
        kit.create("c", Link::Alone).await.unwrap();
        let before = kit.store.stats().await.unwrap();
        assert_eq!(kit.create("d", Link::Alone).await, Err(StoreError::Full(Full::Owner)));
        assert_eq!(kit.store.stats().await.unwrap(), before);
        kit.store.finish(lease, end(Status::Completed, "b")).await.unwrap();
        kit.create("d", Link::Alone).await.unwrap();
        assert_eq!(stored(kit, "ab").await, "a");
    })
    .await;
}

#[tokio::test]
async fn a_refused_create_evicts_nothing() {
    each(Bounds { owner_bytes: 3 * one(), ..Bounds::default() }, async |kit| {
        kit.complete("a", Link::Alone).await;
        kit.complete("b", Link::Alone).await;
        let mut large = new("large", Link::Alone);
        large.request = vec![0; 4 * usize::try_from(one()).unwrap()];
        assert_eq!(kit.store.create(&kit.owner, large).await, Err(StoreError::Full(Full::Owner)));
        assert_eq!(stored(kit, "ab").await, "ab");
    })
    .await;
}

#[tokio::test]
async fn the_whole_store_has_a_bound_over_all_owners() {
    each(Bounds { bytes: 2 * one(), ..Bounds::default() }, async |kit| {
        kit.complete("a", Link::Alone).await;
        kit.clock.advance(DAY);
        kit.complete("b", Link::Alone).await;
        let bob = Owner::new("bob");
        kit.store.create(&bob, new("c", Link::Alone)).await.unwrap();
        assert_eq!(stored(kit, "ab").await, "b");
        kit.store.create(&bob, new("d", Link::Alone)).await.unwrap();
        assert_eq!(kit.store.create(&bob, new("e", Link::Alone)).await, Err(StoreError::Full(Full::Store)));
        assert_eq!(kit.create("f", Link::Alone).await, Err(StoreError::Full(Full::Store)));
    })
    .await;
}

#[tokio::test]
async fn what_wasnt_used_for_thirty_days_is_gone() {
    each(Bounds::default(), async |kit| {
        kit.complete("a", Link::Alone).await;
        kit.store.conversation_create(&kit.owner, "v", vec![], vec![item("e")]).await.unwrap();
        kit.create("running", Link::Alone).await.unwrap();
        kit.clock.advance(29 * DAY);
        kit.complete("b", parent("a")).await;
        kit.clock.advance(29 * DAY);
        kit.complete("c", parent("b")).await;
        kit.clock.advance(DAY);
        // `a` was used by `b` thirty days ago.
        assert_eq!(stored(kit, "abc").await, "bc");
        assert_eq!(
            kit.store.conversation_get(&kit.owner, "v", Budget::default()).await,
            Err(StoreError::NotFound)
        );
        assert_eq!(named(&*kit.store, &kit.owner, "e").await, Err(StoreError::NotFound));
        assert_eq!(kit.context(parent("c")).await.len(), 6);
        assert_eq!(kit.store.evict().await, Ok(Evicted { conversations: 1, ..Evicted::default() }));
        kit.clock.advance(30 * DAY);
        let mut evicted = 0;
        while let Some(more) = Some(kit.store.evict().await.unwrap().responses).filter(|n| *n > 0) {
            evicted += more;
        }
        assert_eq!(evicted, 3);
        assert!(kit.store.response(&kit.owner, "running", Budget::default()).await.is_ok());
    })
    .await;
}

/// Listing the items of a response didn't count, so one that was only paged through was evicted.
#[tokio::test]
async fn whose_items_are_listed_is_used() {
    each(Bounds::default(), async |kit| {
        kit.complete("a", Link::Alone).await;

        for _ in 0..2 {
            kit.clock.advance(29 * DAY);
            assert_eq!(
                kit.store.items(&kit.owner, "a", Page::whole(), Budget::default()).await.unwrap().data.len(),
                1
            );
        }
        assert_eq!(stored(kit, "a").await, "a");
    })
    .await;
}

#[tokio::test]
async fn conversation_is_evicted_unless_a_response_runs() {
    each(Bounds { owner_bytes: 3 * one(), ..Bounds::default() }, async |kit| {
        for id in ["v", "w"] {
            let metadata = vec![0; usize::try_from(one() - ROW_BYTES).unwrap()];
            kit.store.conversation_create(&kit.owner, id, metadata, vec![]).await.unwrap();
        }
        kit.create("a", conversation("v")).await.unwrap();
        kit.create("b", Link::Alone).await.unwrap();
        assert_eq!(
            kit.store.conversation_get(&kit.owner, "w", Budget::default()).await,
            Err(StoreError::NotFound)
        );
        assert!(kit.store.conversation_get(&kit.owner, "v", Budget::default()).await.is_ok());
    })
    .await;
}

#[tokio::test]
async fn an_operator_purges_by_owner_and_age() {
    each(Bounds::default(), async |kit| {
        let bob = Owner::new("bob");
        kit.complete("a", Link::Alone).await;
        kit.store.conversation_create(&kit.owner, "v", vec![], vec![item("e")]).await.unwrap();
        let old = kit.clock.now();
        kit.clock.advance(DAY);
        kit.complete("b", parent("a")).await;
        kit.create("c", Link::Alone).await.unwrap();
        kit.store.create(&bob, new("a", Link::Alone)).await.unwrap();
        let purged = async |unused_since, expected: Evicted| {
            let owner = Some(kit.owner.clone());
            for count_only in [true, false] {
                let what = Purge { owner: owner.clone(), unused_since, count_only };
                assert_eq!(kit.store.purge(what).await, Ok(expected));
            }
        };
        purged(Some(old), Evicted { conversations: 1, ..Evicted::default() }).await;
        purged(None, Evicted { responses: 3, ..Evicted::default() }).await;
        let stats = kit.store.stats().await.unwrap();
        assert_eq!((stats.responses, stats.kept, stats.owners.len()), (1, 0, 1));
        let everything = kit.store.purge(Purge::default()).await;
        assert_eq!(everything, Ok(Evicted { responses: 1, ..Evicted::default() }));
        assert_eq!(kit.store.stats().await.unwrap().owners, []);
    })
    .await;
}

#[tokio::test]
async fn conversation_lives_as_long_as_its_chains() {
    each(Bounds::default(), async |kit| {
        kit.store.conversation_create(&kit.owner, "v", vec![], vec![item("e")]).await.unwrap();
        kit.complete("a", conversation("v")).await;
        kit.clock.advance(20 * DAY);
        kit.complete("b", parent("a")).await;
        for _ in 0..2 {
            kit.clock.advance(20 * DAY);
            while kit.store.evict().await.unwrap() != Evicted::default() {}
            assert_eq!(kit.context(parent("b")).await, ["e", "a-in", "a-out", "b-in", "b-out"]);
            kit.store.response(&kit.owner, "b", Budget::default()).await.unwrap();
        }
    })
    .await;
}

/// A chunk was a write to the row of its owner as well, which all its responses share.
#[tokio::test]
async fn logs_of_what_runs_make_room_with_the_upkeep_and_are_counted_at_the_end() {
    each(Bounds { owner_bytes: 60_000, ..Bounds::default() }, async |kit| {
        kit.complete("old", Link::Alone).await;
        let lease = kit.run("r").await;
        let bytes = async || kit.store.stats().await.unwrap().owners[0].1;
        let alone = bytes().await;
        let noise = |from: u64| -> Vec<u8> {
            let mut random = seeded::SplitMix64::new(from);
            (0..4000).flat_map(|_| random.draw().to_le_bytes()).collect()
        };
        for first in 0..2 {
            let chunk = store::Chunk { first, events: vec![noise(first)] };
            kit.store.append(&lease, chunk).await.unwrap();
        }
        let logged = bytes().await;
        assert!(logged > 60_000 && logged > alone + 60_000, "{logged}");
        assert_eq!(kit.store.check().await, Ok(vec![]));
        assert!(kit.store.response(&kit.owner, "old", Budget::default()).await.is_ok());
        assert_eq!(kit.store.evict().await.unwrap().responses, 1);
        assert!(kit.store.response(&kit.owner, "old", Budget::default()).await.is_err());
        kit.store.finish(lease, end(Status::Completed, "r")).await.unwrap();
        assert!(bytes().await > 60_000);
        assert_eq!(kit.create("next", Link::Alone).await.err(), None);
        assert!(kit.store.response(&kit.owner, "r", Budget::default()).await.is_err(), "it made room");
    })
    .await;
}

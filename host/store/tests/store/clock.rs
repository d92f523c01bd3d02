//! A clock that is set forward and back: leases don't notice, use makes nothing older, and lists
//! stay in the order in which things were made.

use std::time::Duration;

use store::{Bounds, Budget, Events, Evicted, Link, NewCompletion, Order, Status, StoreError, StoredItem};

use crate::kit::{Kit, chunk, conversation, each, end, ids, item, page, parent, served};

const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;

async fn completed(kit: &Kit, id: &str) {
    let new = NewCompletion { id: id.to_owned(), tags: vec![], input: vec![item("0")] };
    let lease = kit.store.completion_create(&kit.owner, new).await.unwrap();
    kit.store.finish(lease, end(Status::Completed, id)).await.unwrap();
}

#[tokio::test]
async fn a_date_that_is_set_ends_no_lease_and_keeps_none() {
    each(Bounds::default(), async |kit| {
        let now = kit.clock.now();
        let foreground = kit.create("a", Link::Alone).await.unwrap();
        let running = kit.run("b").await;
        kit.store.append(&running, chunk(0, 3)).await.unwrap();
        let claimed = kit.run("c").await;
        let new = NewCompletion { id: "d".to_owned(), tags: vec![], input: vec![] };
        let completion = kit.store.completion_create(&kit.owner, new).await.unwrap();
        for date in [now + HOUR, now + 400 * DAY, now - 400 * DAY, 0, now] {
            kit.clock.set(date);
            assert!(kit.store.claim(&served()).await.unwrap().is_none());
            assert!(kit.store.sweep().await.unwrap().is_empty());
            let leases = vec![foreground.clone(), running.clone(), claimed.clone(), completion.clone()];
            assert_eq!(kit.store.renew(leases).await, Ok(vec![]));
        }
        kit.clock.set(now - DAY);
        kit.clock.advance(Duration::from_secs(21));
        assert_eq!(kit.store.claim(&served()).await.unwrap().unwrap().lease.id(), "c");
        let swept = kit.store.sweep().await.unwrap();
        let swept: Vec<&str> = swept.iter().map(|claimed| claimed.lease.id()).collect();
        assert_eq!(swept, ["a", "b"]);
        // The process of the completion is lost, too.
        assert_eq!(kit.store.renew(vec![completion.clone()]).await, Ok(vec![completion]));
    })
    .await;
}

#[tokio::test]
async fn use_under_a_clock_set_back_makes_nothing_older() {
    each(Bounds::default(), async |kit| {
        let now = kit.clock.now();
        kit.complete("a", Link::Alone).await;
        completed(kit, "b").await;
        for id in ["v", "w"] {
            kit.store.conversation_create(&kit.owner, id, vec![], vec![item("e")]).await.unwrap();
        }
        let lease = kit.create("c", Link::Alone).await.unwrap();

        kit.clock.set(now - 40 * DAY);
        kit.complete("d", parent("a")).await;
        kit.complete("e", conversation("v")).await;
        kit.store.completion_retag(&kit.owner, "b", vec![]).await.unwrap();
        kit.store.conversation_update(&kit.owner, "w", b"new".to_vec()).await.unwrap();
        kit.store.conversation_append(&kit.owner, "w", vec![item("f"), item("g")]).await.unwrap();
        kit.store.conversation_remove(&kit.owner, "w", "e").await.unwrap();
        kit.store.finish(lease, end(Status::Completed, "c")).await.unwrap();
        assert_eq!(kit.store.evict().await, Ok(Evicted::default()));

        kit.clock.set(now + DAY);
        for id in ["a", "c"] {
            assert!(kit.store.response(&kit.owner, id, Budget::default()).await.is_ok(), "{id}");
        }
        assert!(kit.store.completion_get(&kit.owner, "b", Budget::default()).await.is_ok());
        assert_eq!(kit.context(conversation("v")).await, ["e", "e-in", "e-out"]);
        assert_eq!(kit.context(conversation("w")).await, ["f", "g"]);
        // What was made then is as old as the clock said.
        for id in ["d", "e"] {
            assert_eq!(
                kit.store.response(&kit.owner, id, Budget::default()).await,
                Err(StoreError::NotFound),
                "{id}"
            );
        }
    })
    .await;
}

#[tokio::test]
async fn clock_jump_and_return_before_eviction_lose_nothing() {
    each(Bounds::default(), async |kit| {
        let now = kit.clock.now();
        kit.complete("a", Link::Alone).await;
        let lease = kit.run("b").await;
        let last = store::End { last: Some(chunk(0, 3)), ..end(Status::Completed, "b") };
        kit.store.finish(lease, last).await.unwrap();
        kit.clock.set(now + 31 * DAY);
        assert_eq!(kit.store.response(&kit.owner, "a", Budget::default()).await, Err(StoreError::NotFound));
        for date in [now, now - DAY] {
            kit.clock.set(date);
            assert_eq!(kit.store.evict().await, Ok(Evicted::default()));
            assert!(kit.store.response(&kit.owner, "a", Budget::default()).await.is_ok());
            let events = kit.store.events_after(&kit.owner, "b", None).await;
            assert!(
                matches!(events, Ok(Events::Log { chunk: events, end: true, .. }) if events == chunk(0, 3))
            );
        }
    })
    .await;
}

#[tokio::test]
async fn lists_stay_in_the_order_in_which_things_were_made() {
    each(Bounds::default(), async |kit| {
        let now = kit.clock.now();
        kit.store.conversation_create(&kit.owner, "v", vec![], vec![]).await.unwrap();
        let names: Vec<String> = (0..9).map(|number| number.to_string()).collect();
        for (name, jump) in names.iter().zip([0, DAY, HOUR, 9 * DAY, 0, 3, 20 * DAY, 2, 1]) {
            kit.clock.set(now - jump);
            completed(kit, name).await;
            let item = StoredItem { id: name.clone(), body: b"{}".to_vec() };
            kit.store.conversation_append(&kit.owner, "v", vec![item]).await.unwrap();
        }
        kit.clock.set(now);
        for order in [Order::Ascending, Order::Descending] {
            let mut expected = names.clone();
            if order == Order::Descending {
                expected.reverse();
            }
            let (mut completions, mut entries) = (Vec::new(), Vec::new());
            for _ in 0..expected.len() {
                let next = page(order, 1, completions.last().map(String::as_str));
                let list =
                    kit.store.completion_list(&kit.owner, vec![], next, Budget::default()).await.unwrap();
                completions.extend(list.data.into_iter().map(|it| it.id));
                let next = page(order, 1, entries.last().map(String::as_str));
                let list =
                    kit.store.conversation_items(&kit.owner, "v", next, Budget::default()).await.unwrap();
                entries.extend(ids(&list.data).into_iter().map(str::to_owned));
            }
            assert_eq!((completions, entries), (expected.clone(), expected));
        }
    })
    .await;
}

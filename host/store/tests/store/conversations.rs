//! Conversations: entries, the lock of the response that runs, deletion.

use std::time::Duration;

use store::{Bounds, Budget, Link, NewResponse, Order, Status, StoreError};

use crate::kit::{conversation, each, end, ids, item, named, new, page, parent};

#[tokio::test]
async fn a_response_adds_its_items_when_it_completes() {
    each(Bounds::default(), async |kit| {
        kit.store.conversation_create(&kit.owner, "v", b"meta".to_vec(), vec![item("first")]).await.unwrap();
        kit.complete("a", conversation("v")).await;
        assert_eq!(kit.context(conversation("v")).await, ["first", "a-in", "a-out"]);
        for (id, status, entries) in
            [("b", Status::Failed, 3), ("c", Status::Cancelled, 3), ("d", Status::Incomplete, 5)]
        {
            let lease = kit.create(id, conversation("v")).await.unwrap();
            kit.store.finish(lease, end(status, id)).await.unwrap();
            assert_eq!(kit.context(conversation("v")).await.len(), entries);
        }
        let list = kit
            .store
            .items(&kit.owner, "d", page(Order::Ascending, 9, None), Budget::default())
            .await
            .unwrap();
        assert_eq!(ids(&list.data), ["first", "a-in", "a-out", "d-in"]);
    })
    .await;
}

#[tokio::test]
async fn one_response_runs_in_a_conversation() {
    each(Bounds::default(), async |kit| {
        kit.store.conversation_create(&kit.owner, "v", vec![], vec![]).await.unwrap();
        let lease = kit.create("a", conversation("v")).await.unwrap();
        assert_eq!(kit.create("b", conversation("v")).await, Err(StoreError::Locked));
        kit.store.conversation_append(&kit.owner, "v", vec![item("meanwhile")]).await.unwrap();
        kit.store.finish(lease, end(Status::Completed, "a")).await.unwrap();
        assert_eq!(kit.context(conversation("v")).await, ["meanwhile", "a-in", "a-out"]);
        kit.create("b", conversation("v")).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn items_are_listed_found_and_removed() {
    each(Bounds::default(), async |kit| {
        let entries = ["a", "b", "c"].map(item).to_vec();
        kit.store.conversation_create(&kit.owner, "v", vec![], entries).await.unwrap();
        kit.store.conversation_update(&kit.owner, "v", b"new".to_vec()).await.unwrap();
        assert_eq!(kit.store.conversation_remove(&kit.owner, "v", "b").await.unwrap().metadata, b"new");
        assert_eq!(kit.store.conversation_remove(&kit.owner, "v", "b").await, Err(StoreError::NotFound));
        assert_eq!(
            kit.store.conversation_item(&kit.owner, "v", "b", Budget::default()).await,
            Err(StoreError::NotFound)
        );
        assert_eq!(kit.store.conversation_item(&kit.owner, "v", "c", Budget::default()).await, Ok(item("c")));
        assert_eq!(named(&*kit.store, &kit.owner, "c").await, Ok(item("c")));
        let list = kit
            .store
            .conversation_items(&kit.owner, "v", page(Order::Descending, 1, None), Budget::default())
            .await
            .unwrap();
        assert_eq!((ids(&list.data), list.more), (vec!["c"], true));
    })
    .await;
}

#[tokio::test]
async fn an_id_is_added_to_a_conversation_once() {
    each(Bounds::default(), async |kit| {
        let (store, owner) = (&kit.store, &kit.owner);
        let twice = Err(StoreError::DuplicateItem("a".to_owned()));
        let entries = ["a", "b", "a"].map(item).to_vec();
        assert_eq!(store.conversation_create(owner, "v", vec![], entries).await.map(drop), twice);
        assert_eq!(
            store.conversation_get(owner, "v", Budget::default()).await.map(drop),
            Err(StoreError::NotFound)
        );
        store.conversation_create(owner, "v", vec![], vec![item("a")]).await.unwrap();
        assert_eq!(store.conversation_append(owner, "v", vec![item("b"), item("a")]).await, twice);
        assert_eq!(kit.context(conversation("v")).await, ["a"]);
        store.conversation_create(owner, "w", vec![], vec![item("a")]).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn pages_come_to_an_end_where_ids_occur_again() {
    each(Bounds::default(), async |kit| {
        let entries = ["a", "b", "a", "c", "d", "c", "e"].map(item).to_vec();
        kit.store.conversation_create(&kit.owner, "v", vec![], vec![]).await.unwrap();
        let run = NewResponse { input: entries.clone(), ..new("q", conversation("v")) };
        let lease = kit.store.create(&kit.owner, run).await.unwrap();
        kit.store.finish(lease, end(Status::Completed, "q")).await.unwrap();
        kit.store.conversation_remove(&kit.owner, "v", "q-out").await.unwrap();
        kit.store.create(&kit.owner, NewResponse { input: entries, ..new("r", Link::Alone) }).await.unwrap();
        for (order, expected) in [
            (Order::Ascending, ["a b", "a c", "e"].as_slice()),
            (Order::Descending, ["e c", "a b", "a"].as_slice()),
        ] {
            for of_response in [false, true] {
                let (mut pages, mut after) = (Vec::new(), None::<String>);
                loop {
                    let asked = page(order, 2, after.as_deref());
                    let list = if of_response {
                        kit.store.items(&kit.owner, "r", asked, Budget::default()).await.unwrap()
                    } else {
                        kit.store.conversation_items(&kit.owner, "v", asked, Budget::default()).await.unwrap()
                    };
                    after = list.data.last().map(|item| item.id.clone());
                    pages.push(ids(&list.data).join(" "));
                    if !list.more {
                        break;
                    }
                }
                assert_eq!(pages, expected, "{order:?} {of_response}");
            }
        }
        let unknown = page(Order::Ascending, 2, Some("x"));
        assert_eq!(
            kit.store.conversation_items(&kit.owner, "v", unknown, Budget::default()).await,
            Err(StoreError::NotFound)
        );
    })
    .await;
}

#[tokio::test]
async fn a_conversation_that_is_read_stays() {
    each(Bounds::default(), async |kit| {
        for id in ["read", "listed", "left"] {
            kit.store.conversation_create(&kit.owner, id, vec![], vec![]).await.unwrap();
        }
        for _ in 0..2 {
            kit.clock.advance(Duration::from_hours(20 * 24));
            kit.store.conversation_get(&kit.owner, "read", Budget::default()).await.unwrap();
            let all = page(Order::Ascending, 9, None);
            kit.store.conversation_items(&kit.owner, "listed", all, Budget::default()).await.unwrap();
        }
        assert_eq!(
            kit.store.conversation_get(&kit.owner, "left", Budget::default()).await,
            Err(StoreError::NotFound)
        );
    })
    .await;
}

#[tokio::test]
async fn a_deleted_conversation_leaves_its_responses() {
    each(Bounds::default(), async |kit| {
        kit.store.conversation_create(&kit.owner, "v", vec![], vec![item("e")]).await.unwrap();
        kit.complete("a", conversation("v")).await;
        kit.complete("fork", parent("a")).await;
        let lease = kit.create("late", conversation("v")).await.unwrap();
        assert_eq!(kit.context(parent("fork")).await, ["e", "a-in", "a-out", "fork-in", "fork-out"]);
        kit.store.conversation_delete(&kit.owner, "v").await.unwrap();
        assert_eq!(
            kit.store.conversation_get(&kit.owner, "v", Budget::default()).await,
            Err(StoreError::NotFound)
        );
        kit.store.finish(lease, end(Status::Completed, "late")).await.unwrap();
        assert_eq!(kit.context(parent("fork")).await, ["a-in", "a-out", "fork-in", "fork-out"]);
        // A new one of the same id isn't the old one.
        kit.store.conversation_create(&kit.owner, "v", vec![], vec![item("other")]).await.unwrap();
        assert_eq!(kit.context(parent("a")).await, ["a-in", "a-out"]);
        assert_eq!(kit.create("a", Link::Alone).await, Err(StoreError::Duplicate));
    })
    .await;
}

//! Responses: chains, the end, reads, deletion, owners.

use store::{Bounds, Budget, End, Finished, Lease, Link, Order, Owner, State, Status, StoreError, TooLong};

use crate::kit::{conversation, each, end, ids, item, named, needs, new, page, parent};

#[tokio::test]
async fn a_response_is_read_as_it_was_written() {
    each(Bounds::default(), async |kit| {
        let lease = kit.create("r1", Link::Alone).await.unwrap();
        let running = kit.store.response(&kit.owner, "r1", Budget::default()).await.unwrap();
        assert_eq!(
            (running.state, running.request.as_slice()),
            (State::Running(vec![]), b"request r1".as_slice())
        );
        let finished = kit.store.finish(lease, end(Status::Incomplete, "r1")).await;
        assert_eq!(finished, Ok(Finished::Now));
        kit.reopen_and(async |kit| {
            let State::Ended(outcome) =
                kit.store.response(&kit.owner, "r1", Budget::default()).await.unwrap().state
            else {
                panic!()
            };
            assert_eq!((outcome.status, outcome.result), (Status::Incomplete, b"result r1".to_vec()));
            assert_eq!((outcome.at, outcome.output), (kit.clock.now(), vec![item("r1-out")]));
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn the_first_to_finish_wins() {
    each(Bounds::default(), async |kit| {
        let lease = kit.create("r1", Link::Alone).await.unwrap();
        let fence = kit.store.fence(&kit.owner, "r1").await.unwrap().unwrap();
        assert_eq!(
            kit.store.finish(fence.clone(), end(Status::Cancelled, "cancel")).await,
            Ok(Finished::Now)
        );
        let stored = kit.store.response(&kit.owner, "r1", Budget::default()).await.unwrap();
        for lease in [lease, fence] {
            let late = kit.store.finish(lease, end(Status::Completed, "r1")).await;
            assert_eq!(late, Ok(Finished::Before(stored.clone())));
        }
        assert_eq!(kit.store.fence(&kit.owner, "r1").await, Ok(None));
        assert_eq!(kit.store.response(&kit.owner, "r1", Budget::default()).await, Ok(stored));
    })
    .await;
}

#[tokio::test]
async fn a_context_is_the_chain_in_order_and_forks_share_it() {
    each(Bounds::default(), async |kit| {
        kit.complete("a", Link::Alone).await;
        kit.complete("b", parent("a")).await;
        kit.complete("c", parent("a")).await;
        assert_eq!(kit.context(parent("b")).await, ["a-in", "a-out", "b-in", "b-out"]);
        assert_eq!(kit.context(parent("c")).await, ["a-in", "a-out", "c-in", "c-out"]);
        assert_eq!(kit.context(Link::Alone).await, Vec::<String>::new());
    })
    .await;
}

#[tokio::test]
async fn what_runs_or_failed_or_is_unknown_isnt_continued() {
    each(Bounds::default(), async |kit| {
        kit.create("running", Link::Alone).await.unwrap();
        let lease = kit.create("failed", Link::Alone).await.unwrap();
        kit.store.finish(lease, end(Status::Failed, "failed")).await.unwrap();
        for id in ["running", "failed", "unknown"] {
            assert_eq!(kit.create("child", parent(id)).await, Err(StoreError::NotFound));
            assert_eq!(
                kit.store.context(&kit.owner, &parent(id), Budget::default()).await,
                Err(StoreError::NotFound)
            );
        }
    })
    .await;
}

#[tokio::test]
async fn output_added_under_way_is_kept_without_an_end_and_first_with_one() {
    each(Bounds::default(), async |kit| {
        let add = async |lease: &Lease, first: u64, id: &str| {
            kit.store.add_output(lease, first, vec![item(id)]).await
        };
        let output =
            async |id: &str| match kit.store.response(&kit.owner, id, Budget::default()).await.unwrap().state
            {
                State::Ended(outcome) => outcome.output,
                _ => panic!("{id} runs"),
            };
        for (id, last, kept) in [
            ("lost", vec![], vec!["a", "b"]),
            ("whole", vec![item("a"), item("b"), item("c")], vec!["a", "b", "c"]),
            ("shorter", vec![item("a")], vec!["a", "b"]),
        ] {
            let lease = kit.create(id, Link::Alone).await.unwrap();
            add(&lease, 0, "a").await.unwrap();
            add(&lease, 1, "b").await.unwrap();
            for first in [3, u64::MAX] {
                assert_eq!(add(&lease, first, "x").await, Err(StoreError::Sequence { expected: 2 }));
            }
            let running = kit.store.response(&kit.owner, id, Budget::default()).await.unwrap();
            assert_eq!(running.state, State::Running(vec![item("a"), item("b")]));
            let end = End { output: last, ..end(Status::Completed, id) };
            kit.store.finish(lease.clone(), end).await.unwrap();
            assert_eq!(ids(&output(id).await), kept);
            assert_eq!(add(&lease, 2, "x").await, Err(StoreError::LeaseLost));
        }
        let deleted = kit.create("deleted", Link::Alone).await.unwrap();
        add(&deleted, 0, "a").await.unwrap();
        kit.store.delete(&kit.owner, "deleted").await.unwrap();
        assert_eq!(add(&deleted, 1, "b").await, Err(StoreError::NotFound));
        let background = kit.run("background").await;
        assert_eq!(add(&background, 0, "a").await, Err(StoreError::Sequence { expected: 0 }));
    })
    .await;
}

#[tokio::test]
async fn input_is_paged_in_both_orders() {
    each(Bounds::default(), async |kit| {
        kit.complete("a", Link::Alone).await;
        kit.complete("b", parent("a")).await;
        let list = async |order, limit, after| {
            kit.store.items(&kit.owner, "b", page(order, limit, after), Budget::default()).await
        };
        let all = list(Order::Descending, 20, None).await.unwrap();
        assert_eq!((ids(&all.data), all.more), (vec!["b-in", "a-out", "a-in"], false));
        let first = list(Order::Ascending, 2, None).await.unwrap();
        assert_eq!((ids(&first.data), first.more), (vec!["a-in", "a-out"], true));
        let rest = list(Order::Ascending, 2, Some("a-out")).await.unwrap();
        assert_eq!((ids(&rest.data), rest.more), (vec!["b-in"], false));
        assert_eq!(list(Order::Ascending, 2, Some("b-out")).await, Err(StoreError::NotFound));
    })
    .await;
}

#[tokio::test]
async fn deleted_response_is_unknown_and_unneeded_items_go() {
    each(Bounds::default(), async |kit| {
        kit.complete("a", Link::Alone).await;
        kit.complete("b", parent("a")).await;
        kit.complete("c", parent("b")).await;
        for id in ["a", "b"] {
            assert_eq!(kit.store.delete(&kit.owner, id).await, Ok(()));
            assert_eq!(kit.store.delete(&kit.owner, id).await, Err(StoreError::NotFound));
            assert_eq!(
                kit.store.response(&kit.owner, id, Budget::default()).await,
                Err(StoreError::NotFound)
            );
            assert_eq!(named(&*kit.store, &kit.owner, &format!("{id}-in")).await, Err(StoreError::NotFound));
            assert_eq!(kit.create("d", parent(id)).await, Err(StoreError::NotFound));
        }
        assert_eq!(kit.context(parent("c")).await, ["a-in", "a-out", "b-in", "b-out", "c-in", "c-out"]);
        assert_eq!(kit.store.stats().await.unwrap().kept, 2);
        kit.store.delete(&kit.owner, "c").await.unwrap();
        let stats = kit.store.stats().await.unwrap();
        assert_eq!((stats.responses, stats.kept, stats.owners[0].1), (0, 0, 0));
    })
    .await;
}

#[tokio::test]
async fn a_deleted_response_takes_no_more_writes() {
    each(Bounds::default(), async |kit| {
        kit.store.conversation_create(&kit.owner, "v", vec![], vec![]).await.unwrap();
        let lease = kit.create("r", conversation("v")).await.unwrap();
        kit.store.delete(&kit.owner, "r").await.unwrap();
        let end = end(Status::Completed, "r");
        assert_eq!(kit.store.finish(lease.clone(), end).await, Err(StoreError::NotFound));
        assert_eq!(kit.store.renew(vec![lease.clone()]).await, Ok(vec![lease]));
        assert_eq!(kit.context(conversation("v")).await, Vec::<String>::new());
        kit.create("next", conversation("v")).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn an_item_is_found_by_its_id_and_the_newest_wins() {
    each(Bounds::default(), async |kit| {
        for body in ["old", "new"] {
            let mut response = new(body, Link::Alone);
            response.input[0] = store::StoredItem { id: "twice".into(), body: body.into() };
            kit.store.create(&kit.owner, response).await.unwrap();
        }
        assert_eq!(named(&*kit.store, &kit.owner, "twice").await.unwrap().body, b"new");
        kit.store.delete(&kit.owner, "new").await.unwrap();
        assert_eq!(named(&*kit.store, &kit.owner, "twice").await.unwrap().body, b"old");
    })
    .await;
}

#[tokio::test]
async fn another_owners_ids_are_unknown_ones() {
    each(Bounds::default(), async |kit| {
        kit.complete("r", Link::Alone).await;
        kit.store.conversation_create(&kit.owner, "v", vec![], vec![item("e")]).await.unwrap();
        let bob = Owner::new("bob");
        let store = &kit.store;
        for (response, conv, entry) in [("r", "v", "e"), ("x", "y", "z")] {
            let nothing = Err(StoreError::NotFound);
            let any = || page(Order::Ascending, 9, None);
            assert_eq!(store.response(&bob, response, Budget::default()).await.map(drop), nothing);
            assert_eq!(store.items(&bob, response, any(), Budget::default()).await.map(drop), nothing);
            assert_eq!(store.events_after(&bob, response, None).await.map(drop), nothing);
            assert_eq!(store.delete(&bob, response).await, nothing);
            assert_eq!(store.create(&bob, new("n", parent(response))).await.map(drop), nothing);
            assert_eq!(store.create(&bob, new("n", conversation(conv))).await.map(drop), nothing);
            assert_eq!(
                store.enqueue(&bob, &needs(), new("n", parent(response)), vec![]).await.map(drop),
                nothing
            );
            assert_eq!(store.context(&bob, &parent(response), Budget::default()).await.map(drop), nothing);
            assert_eq!(store.context(&bob, &conversation(conv), Budget::default()).await.map(drop), nothing);
            assert_eq!(store.fence(&bob, response).await.map(drop), nothing);
            assert_eq!(named(&**store, &bob, &format!("{response}-in")).await.map(drop), nothing);
            assert_eq!(named(&**store, &bob, entry).await.map(drop), nothing);
            assert_eq!(store.conversation_get(&bob, conv, Budget::default()).await.map(drop), nothing);
            assert_eq!(store.conversation_update(&bob, conv, vec![]).await.map(drop), nothing);
            assert_eq!(store.conversation_append(&bob, conv, vec![]).await.map(drop), nothing);
            assert_eq!(
                store.conversation_items(&bob, conv, any(), Budget::default()).await.map(drop),
                nothing
            );
            assert_eq!(
                store.conversation_item(&bob, conv, entry, Budget::default()).await.map(drop),
                nothing
            );
            assert_eq!(store.conversation_remove(&bob, conv, entry).await.map(drop), nothing);
            assert_eq!(store.conversation_delete(&bob, conv).await, nothing);
        }
        // Even the id is free for the other owner.
        store.create(&bob, new("r", Link::Alone)).await.unwrap();
        assert_eq!(
            store.create(&kit.owner, new("r", Link::Alone)).await.map(drop),
            Err(StoreError::Duplicate)
        );
    })
    .await;
}

#[tokio::test]
async fn nul_is_in_bodies_only() {
    each(Bounds::default(), async |kit| {
        let (store, owner) = (&kit.store, &kit.owner);
        let entry = |id: &str| store::StoredItem { id: id.into(), body: b"a\0b".to_vec() };
        let with = |id: &str| store::NewResponse { input: vec![entry(id)], ..new("r", Link::Alone) };
        assert_eq!(store.create(owner, new("r\0", Link::Alone)).await, Err(StoreError::Nul));
        assert_eq!(store.create(&Owner::new("\0"), new("r", Link::Alone)).await, Err(StoreError::Nul));
        assert_eq!(store.enqueue(owner, &needs(), with("\0"), vec![]).await, Err(StoreError::Nul));
        let lease = store.create(owner, with("i")).await.unwrap();
        assert_eq!(store.add_output(&lease, 0, vec![entry("\0")]).await, Err(StoreError::Nul));
        let ended = |id: &str| End { output: vec![entry(id)], ..end(Status::Completed, "r") };
        assert_eq!(store.finish(lease.clone(), ended("\0")).await, Err(StoreError::Nul));
        assert_eq!(store.finish(lease, ended("o")).await, Ok(Finished::Now));
        let created = |id: &'static str, entry| store.conversation_create(owner, id, vec![0], vec![entry]);
        assert_eq!(created("\0", entry("e")).await, Err(StoreError::Nul));
        assert_eq!(created("v", entry("\0")).await, Err(StoreError::Nul));
        let tags = vec![store::CompletionTag { name: "n".into(), value: "\0".into() }];
        let completion = store::NewCompletion { id: "c".into(), tags, input: vec![] };
        assert_eq!(store.completion_create(owner, completion).await, Err(StoreError::Nul));
        assert_eq!(named(&**store, owner, "i").await, Ok(entry("i")));
        let unknown = store.response(owner, "r\0", Budget::default()).await;
        assert_eq!(unknown.map(drop), Err(StoreError::NotFound));
    })
    .await;
}

#[tokio::test]
async fn a_chain_is_bounded_by_links_and_bytes() {
    each(Bounds { links: 3, context_bytes: 100, ..Bounds::default() }, async |kit| {
        kit.complete("a", Link::Alone).await;
        kit.complete("b", parent("a")).await;
        kit.complete("c", parent("b")).await;
        assert_eq!(kit.create("d", parent("c")).await, Err(StoreError::TooLong(TooLong::Links)));
        let mut long = new("e", parent("a"));
        long.input[0].body = vec![0; 100];
        assert_eq!(kit.store.create(&kit.owner, long).await, Err(StoreError::TooLong(TooLong::Bytes)));
        assert_eq!(kit.context(parent("a")).await.len(), 2);
    })
    .await;
}

#[tokio::test]
async fn records_are_exported_one_by_one() {
    each(Bounds::default(), async |kit| {
        kit.complete("a", Link::Alone).await;
        kit.complete("b", parent("a")).await;
        kit.store.conversation_create(&kit.owner, "v", vec![], vec![item("e")]).await.unwrap();
        kit.store.create(&Owner::new("bob"), new("c", Link::Alone)).await.unwrap();
        let exported = async |owner: Option<&Owner>| {
            let (mut seen, mut after) = (Vec::new(), 0);
            while let Some((number, record)) = kit.store.export(owner, after).await.unwrap() {
                after = number;
                let (id, items) = match record {
                    store::ExportedRecord::Response(_, response, input) => (response.id, input),
                    store::ExportedRecord::Completion(_, completion, items) => (completion.id, items),
                    store::ExportedRecord::Conversation(_, conversation, items) => (conversation.id, items),
                };
                seen.push(format!("{id} {}", items.len()));
            }
            seen
        };
        assert_eq!(exported(Some(&kit.owner)).await, ["a 1", "b 1", "v 1"]);
        assert_eq!(exported(None).await, ["a 1", "b 1", "c 1", "v 1"]);
    })
    .await;
}

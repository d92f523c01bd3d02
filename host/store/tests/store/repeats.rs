//! Calls that are made again, since nobody learned whether they were committed: the same is a success
//! and changes nothing, something else is refused by name.

use std::future::poll_fn;
use std::task::Poll;

use store::{
    Bounds, Budget, CompletionTag, End, Finished, Lease, Link, NewCompletion, Order, Reply, State, Status,
    StoreError,
};

use crate::kit::{Kit, chunk, conversation, each, end, ids, item, needs, new, page, parent, served};

/// Makes a call, and loses its answer.
async fn lost<T>(mut call: Reply<T>) {
    poll_fn(|cx| {
        let _ = std::pin::Pin::new(&mut call).poll(cx);
        Poll::Ready(())
    })
    .await;
}

async fn events(kit: &Kit, id: &str) -> usize {
    match kit.store.events_after(&kit.owner, id, None).await.unwrap() {
        store::Events::Log { chunk, .. } => chunk.events.len(),
        other => panic!("{other:?}"),
    }
}

async fn bytes(kit: &Kit) -> u64 {
    kit.store.stats().await.unwrap().owners.iter().map(|(_, bytes)| bytes).sum()
}

#[tokio::test]
async fn response_created_again_is_the_one_that_is_stored() {
    each(Bounds::default(), async |kit| {
        kit.complete("a", Link::Alone).await;
        kit.store.conversation_create(&kit.owner, "v", vec![], vec![]).await.unwrap();
        for (id, link) in [("x", Link::Alone), ("y", parent("a")), ("z", conversation("v"))] {
            lost(kit.store.create(&kit.owner, new(id, link.clone()))).await;
            let lease = kit.create(id, link.clone()).await.unwrap();
            let before = bytes(kit).await;
            assert_eq!(kit.create(id, link.clone()).await.as_ref(), Ok(&lease));
            assert_eq!(bytes(kit).await, before);
            let mut other = new(id, link.clone());
            other.request.push(b'!');
            assert_eq!(kit.store.create(&kit.owner, other).await, Err(StoreError::Duplicate), "{id}");
            let mut other = new(id, link.clone());
            other.input.pop();
            assert_eq!(kit.store.create(&kit.owner, other).await, Err(StoreError::Duplicate), "{id}");
            let background = kit.store.enqueue(&kit.owner, &needs(), new(id, link.clone()), vec![]).await;
            assert_eq!(background, Err(StoreError::Duplicate), "{id}");
            kit.store.finish(lease, end(Status::Completed, id)).await.unwrap();
            assert_eq!(kit.create(id, link).await, Err(StoreError::Duplicate), "it has ended");
        }
        assert_eq!(kit.create("x", parent("a")).await, Err(StoreError::Duplicate), "another link");
    })
    .await;
}

#[tokio::test]
async fn background_response_queued_again_waits_once() {
    each(Bounds { queued: 1, ..Bounds::default() }, async |kit| {
        let log = || chunk(0, 2).events;
        lost(kit.store.enqueue(&kit.owner, &needs(), new("r", Link::Alone), log())).await;
        for _ in 0..2 {
            assert_eq!(kit.store.enqueue(&kit.owner, &needs(), new("r", Link::Alone), log()).await, Ok(()));
        }
        assert_eq!((kit.store.stats().await.unwrap().queued, events(kit, "r").await), (1, 2));
        let lease = kit.store.claim(&served()).await.unwrap().unwrap().lease;
        kit.store.append(&lease, chunk(2, 3)).await.unwrap();
        assert_eq!(kit.store.enqueue(&kit.owner, &needs(), new("r", Link::Alone), log()).await, Ok(()));
        assert_eq!(events(kit, "r").await, 5);
        assert_eq!(kit.create("r", Link::Alone).await, Err(StoreError::Duplicate));
    })
    .await;
}

#[tokio::test]
async fn chunk_appended_again_is_in_the_log_once() {
    each(Bounds { log_bytes: 400, ..Bounds::default() }, async |kit| {
        let lease = kit.run("r").await;
        lost(kit.store.append(&lease, chunk(0, 3))).await;
        for _ in 0..9 {
            assert_eq!(kit.store.append(&lease, chunk(0, 3)).await, Ok(()));
        }
        assert_eq!(kit.store.append(&lease, chunk(3, 2)).await, Ok(()));
        for first in [0, 3] {
            assert_eq!(
                kit.store.append(&lease, chunk(first, 9)).await,
                Err(StoreError::Conflict { at: first })
            );
        }
        assert_eq!(kit.store.append(&lease, chunk(0, 3)).await, Ok(()), "an older one");
        assert_eq!(events(kit, "r").await, 5);
    })
    .await;
}

#[tokio::test]
async fn output_added_again_is_there_once() {
    each(Bounds::default(), async |kit| {
        let lease = kit.create("r", Link::Alone).await.unwrap();
        let add = async |first, items| kit.store.add_output(&lease, first, items).await;
        lost(kit.store.add_output(&lease, 0, vec![item("a")])).await;
        for _ in 0..2 {
            assert_eq!(add(0, vec![item("a")]).await, Ok(()));
        }
        assert_eq!(add(1, vec![item("b"), item("c")]).await, Ok(()));
        assert_eq!(add(0, vec![item("x")]).await, Err(StoreError::Conflict { at: 0 }));
        assert_eq!(add(1, vec![item("b"), item("x")]).await, Err(StoreError::Conflict { at: 1 }));
        let read = kit.store.response(&kit.owner, "r", Budget::default()).await.unwrap();
        assert_eq!(read.state, State::Running(vec![item("a"), item("b"), item("c")]));
    })
    .await;
}

#[tokio::test]
async fn response_finished_again_ended_by_this_and_otherwise_before() {
    each(Bounds::default(), async |kit| {
        kit.store.conversation_create(&kit.owner, "v", vec![], vec![]).await.unwrap();
        let foreground = kit.create("f", conversation("v")).await.unwrap();
        let background = kit.run("b").await;
        kit.store.append(&background, chunk(0, 2)).await.unwrap();
        let finish = async |lease: &Lease, end: End| kit.store.finish(lease.clone(), end).await;
        for (lease, last) in [(&foreground, None), (&background, Some(chunk(2, 2)))] {
            let whole = || End { last: last.clone(), ..end(Status::Completed, lease.id()) };
            lost(kit.store.finish(lease.clone(), whole())).await;
            for _ in 0..2 {
                assert_eq!(finish(lease, whole()).await, Ok(Finished::Now));
            }
            let stored = kit.store.response(&kit.owner, lease.id(), Budget::default()).await.unwrap();
            for other in [
                End { status: Status::Failed, ..whole() },
                End { result: vec![9], ..whole() },
                End { output: vec![item("x")], ..whole() },
            ] {
                assert_eq!(finish(lease, other).await, Ok(Finished::Before(stored.clone())));
            }
        }
        let other = End { last: Some(chunk(2, 3)), ..end(Status::Completed, "b") };
        assert!(matches!(finish(&background, other).await, Ok(Finished::Before(_))));
        assert_eq!(events(kit, "b").await, 4);
        let all = page(Order::Ascending, 9, None);
        let entries = kit.store.conversation_items(&kit.owner, "v", all, Budget::default()).await.unwrap();
        assert_eq!(ids(&entries.data), ["f-in", "f-out"]);
    })
    .await;
}

#[tokio::test]
async fn conversation_and_completion_created_again_are_those_that_are_stored() {
    each(Bounds::default(), async |kit| {
        let tag = |value: &str| CompletionTag { name: "n".into(), value: value.into() };
        let completion =
            |value| NewCompletion { id: "c".into(), tags: vec![tag(value)], input: vec![item("m")] };
        lost(kit.store.completion_create(&kit.owner, completion("1"))).await;
        let lease = kit.store.completion_create(&kit.owner, completion("1")).await.unwrap();
        assert_eq!(kit.store.completion_create(&kit.owner, completion("1")).await, Ok(lease));
        assert_eq!(
            kit.store.completion_create(&kit.owner, completion("2")).await,
            Err(StoreError::Duplicate)
        );

        let create = |metadata: &[u8], id: &str| {
            kit.store.conversation_create(&kit.owner, "v", metadata.to_vec(), vec![item(id)])
        };
        lost(create(b"m", "a")).await;
        let first = create(b"m", "a").await.unwrap();
        assert_eq!(create(b"m", "a").await, Ok(first));
        for (metadata, id) in [(b"n", "a"), (b"m", "b")] {
            assert_eq!(create(metadata, id).await, Err(StoreError::Duplicate));
        }
        assert_eq!(kit.store.stats().await.unwrap().conversations, 1);
    })
    .await;
}

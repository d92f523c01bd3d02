//! What hosts of one store learn of each other: who is there, which logs have grown, whose reasoning is to
//! end.

use std::time::Duration;

use store::{Bounds, Events, Link, LogPosition, OtherHost, Owner, ReasoningOutcome, Status, StoreError};

use crate::kit::{Kit, chunk, each, end, needs, new, served};

fn other(name: &str, settings: &str) -> Vec<OtherHost> {
    vec![OtherHost { name: name.to_owned(), settings: settings.to_owned() }]
}

#[tokio::test]
async fn hosts_see_who_is_there_and_what_it_says() {
    each(Bounds::default(), async |kit| {
        assert_eq!(kit.store.enter("a").await, Ok(vec![]));
        assert_eq!(kit.beside.enter("b").await, Ok(other("here", "a")));
        assert_eq!(kit.store.enter("c").await, Ok(other("there", "b")));
        assert_eq!(kit.beside.enter("b").await, Ok(other("here", "c")));
        kit.clock.advance(Bounds::default().lease.saturating_sub(Duration::from_secs(1)));
        assert_eq!(kit.store.enter("c").await, Ok(other("there", "b")));
        kit.clock.advance(Duration::from_secs(1));
        assert_eq!(kit.store.enter("c").await, Ok(vec![]), "it was lost");
        kit.store.leave().await.unwrap();
        assert_eq!(kit.beside.enter("b").await, Ok(vec![]));
        if kit.reopen() {
            assert_eq!(kit.store.enter("c").await, Ok(vec![]), "a file has one process");
        }
    })
    .await;
}

/// Where a log is read to.
async fn position(kit: &Kit, id: &str) -> LogPosition {
    match kit.beside.events_after(&kit.owner, id, Some(u64::MAX)).await.unwrap() {
        Events::Log { position, .. } => position,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn logs_that_have_grown_ended_or_gone_are_told_at_once() {
    let bounds = Bounds { queued: 4000, running: 4000, ..Bounds::default() };
    each(bounds, async |kit| {
        assert_eq!(kit.beside.grown(vec![]).await, Ok(vec![]));
        let mut positions = Vec::new();
        for n in 0..300 {
            let id = n.to_string();
            kit.store.enqueue(&kit.owner, &needs(), new(&id, Link::Alone), chunk(0, 2).events).await.unwrap();
            positions.push(position(kit, &id).await);
        }
        assert_eq!(kit.beside.grown(positions.clone()).await, Ok(vec![]));
        let grows = kit.store.claim(&served()).await.unwrap().unwrap().lease;
        kit.store.append(&grows, chunk(2, 3)).await.unwrap();
        let ends = kit.store.claim(&served()).await.unwrap().unwrap().lease;
        kit.store.finish(ends, end(Status::Completed, "1")).await.unwrap();
        kit.store.delete(&kit.owner, "2").await.unwrap();
        assert_eq!(kit.beside.grown(positions.clone()).await, Ok(positions[..3].to_vec()));
        positions[0] = position(kit, "0").await;
        assert_eq!(kit.beside.grown(positions.clone()).await, Ok(positions[1..3].to_vec()));
    })
    .await;
}

#[tokio::test]
async fn host_that_runs_a_response_is_asked_to_end_its_reasoning() {
    each(Bounds::default(), async |kit| {
        let (asker, runner, owner) = (&*kit.beside, &*kit.store, &kit.owner);
        kit.store.enqueue(owner, &needs(), new("r", Link::Alone), vec![]).await.unwrap();
        assert_eq!(asker.ask_end_of_reasoning(owner, "r").await, Ok(false), "it waits");
        assert_eq!(asker.end_of_reasoning(owner, "r").await, Ok(None));
        let lease = runner.claim(&served()).await.unwrap().unwrap().lease;
        assert_eq!(runner.ask_end_of_reasoning(owner, "r").await, Ok(false), "it asks itself");
        let outcomes = [ReasoningOutcome::NotReasoning, ReasoningOutcome::NotEndable, ReasoningOutcome::Ends];
        for outcome in outcomes {
            assert_eq!(asker.ask_end_of_reasoning(owner, "r").await, Ok(true));
            assert_eq!(asker.end_of_reasoning(owner, "r").await, Ok(None));
            assert_eq!(asker.asked_ends_of_reasoning().await, Ok(vec![]), "it is asked of the other one");
            assert_eq!(runner.asked_ends_of_reasoning().await, Ok(vec![(owner.clone(), "r".to_owned())]));
            runner.answer_end_of_reasoning(owner, "r", outcome).await.unwrap();
            assert_eq!(runner.asked_ends_of_reasoning().await, Ok(vec![]));
            assert_eq!(asker.end_of_reasoning(owner, "r").await, Ok(Some(outcome)));
        }
        assert_eq!(asker.ask_end_of_reasoning(owner, "r").await, Ok(true));
        runner.finish(lease, end(Status::Completed, "r")).await.unwrap();
        let ended = asker.end_of_reasoning(owner, "r").await;
        assert_eq!(ended, Ok(Some(ReasoningOutcome::NotReasoning)), "it ended without a word");
        assert_eq!(asker.ask_end_of_reasoning(owner, "r").await, Ok(false));
        let bob = Owner::new("bob");
        assert_eq!(asker.ask_end_of_reasoning(&bob, "r").await, Err(StoreError::NotFound));
        assert_eq!(asker.end_of_reasoning(&bob, "r").await, Err(StoreError::NotFound));
    })
    .await;
}

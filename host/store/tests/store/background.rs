//! Background responses: the event log, claims, leases, sweeps.

use std::time::Duration;

use store::{
    Bounds, Budget, Chunk, End, Events, Finished, Full, Link, Needs, Orphaned, Owner, Served, State, Status,
    StoreError,
};

use crate::kit::{Kit, chunk, each, end, needs, new, served};

/// All events behind a number, over several calls.
async fn follow(kit: &Kit, id: &str, mut after: Option<u64>) -> (Vec<String>, bool) {
    let mut all = Vec::new();
    loop {
        let events = kit.store.events_after(&kit.owner, id, after).await.unwrap();
        let Events::Log { chunk, end, .. } = events else { panic!() };
        let got = chunk.events.len() as u64;
        all.extend(chunk.events.into_iter().map(|event| String::from_utf8(event).unwrap()));
        if end || got == 0 {
            return (all, end);
        }
        after = Some(chunk.first + got - 1);
    }
}

fn numbered(range: std::ops::Range<u64>) -> Vec<String> {
    range.map(|n| format!("event {n}")).collect()
}

#[tokio::test]
async fn a_log_is_read_from_any_event_on() {
    each(Bounds::default(), async |kit| {
        kit.store.enqueue(&kit.owner, &needs(), new("r", Link::Alone), chunk(0, 2).events).await.unwrap();
        assert_eq!(
            kit.store.response(&kit.owner, "r", Budget::default()).await.unwrap().state,
            State::Queued
        );
        let lease = kit.store.claim(&served()).await.unwrap().unwrap().lease;
        kit.store.append(&lease, chunk(2, 64)).await.unwrap();
        assert_eq!(
            kit.store.response(&kit.owner, "r", Budget::default()).await.unwrap().state,
            State::Running(vec![])
        );
        assert_eq!(follow(kit, "r", Some(65)).await, (vec![], false));
        let last = End { last: Some(chunk(66, 4)), ..end(Status::Completed, "r") };
        kit.store.finish(lease, last).await.unwrap();
        kit.reopen_and(async |kit| {
            for from in 0..70_u64 {
                let after = from.checked_sub(1);
                assert_eq!(follow(kit, "r", after).await, (numbered(from..70), true));
            }
            assert_eq!(follow(kit, "r", Some(u64::MAX)).await, (vec![], true));
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn long_events_are_whole() {
    each(Bounds::default(), async |kit| {
        let lease = kit.run("r").await;
        let events: Vec<Vec<u8>> =
            (0..9).map(|n| format!("event {n} {}", "x".repeat(400_000)).into()).collect();
        kit.store.append(&lease, Chunk { first: 0, events: events.clone() }).await.unwrap();
        let (read, end) = follow(kit, "r", None).await;
        assert!(!end && read.iter().map(String::as_bytes).eq(events.iter().map(Vec::as_slice)));
    })
    .await;
}

#[tokio::test]
async fn a_chunk_that_leaves_a_gap_is_refused() {
    each(Bounds::default(), async |kit| {
        let lease = kit.run("r").await;
        kit.store.append(&lease, chunk(0, 3)).await.unwrap();
        for (wrong, what) in [(chunk(4, 1), "gap"), (chunk(3, 0), "empty"), (chunk(0, 0), "empty")] {
            assert_eq!(
                kit.store.append(&lease, wrong.clone()).await,
                Err(StoreError::Sequence { expected: 3 }),
                "{what}"
            );
            let last = End { last: Some(wrong), ..end(Status::Completed, "r") };
            let finished = kit.store.finish(lease.clone(), last).await;
            assert_eq!(finished, Err(StoreError::Sequence { expected: 3 }), "{what}");
        }
        assert_eq!(
            kit.store.response(&kit.owner, "r", Budget::default()).await.unwrap().state,
            State::Running(vec![])
        );
        let foreground = kit.create("f", Link::Alone).await.unwrap();
        assert_eq!(
            kit.store.append(&foreground, chunk(0, 1)).await,
            Err(StoreError::Sequence { expected: 0 })
        );
        assert_eq!(kit.store.events_after(&kit.owner, "f", None).await, Ok(Events::Unlogged));
    })
    .await;
}

#[tokio::test]
async fn a_log_has_a_bound_and_the_end_still_fits() {
    each(Bounds { log_bytes: 100, ..Bounds::default() }, async |kit| {
        let lease = kit.run("r").await;
        kit.store.append(&lease, chunk(0, 1)).await.unwrap();
        assert_eq!(kit.store.append(&lease, chunk(1, 99)).await, Err(StoreError::Full(Full::Log)));
        let last = End { last: Some(chunk(1, 99)), ..end(Status::Incomplete, "r") };
        assert_eq!(kit.store.finish(lease, last).await, Ok(Finished::Now));
        assert_eq!(follow(kit, "r", None).await, (numbered(0..100), true));
    })
    .await;
}

#[tokio::test]
async fn a_log_is_gone_an_hour_after_the_end() {
    each(Bounds::default(), async |kit| {
        let lease = kit.run("r").await;
        let last = End { last: Some(chunk(0, 1)), ..end(Status::Completed, "r") };
        kit.store.finish(lease, last).await.unwrap();
        kit.clock.advance(Duration::from_secs(3599));
        assert_eq!(follow(kit, "r", None).await.0.len(), 1);
        assert_eq!(kit.store.evict().await.unwrap().logs, 0);
        kit.clock.advance(Duration::from_secs(1));
        assert_eq!(kit.store.events_after(&kit.owner, "r", None).await, Ok(Events::Expired));
        assert_eq!(kit.store.evict().await.unwrap().logs, 1);
        assert_eq!(kit.store.events_after(&kit.owner, "r", None).await, Ok(Events::Expired));
        assert!(kit.store.response(&kit.owner, "r", Budget::default()).await.is_ok());
    })
    .await;
}

#[tokio::test]
async fn an_owner_runs_so_many_and_queues_so_many() {
    each(Bounds { running: 1, queued: 2, ..Bounds::default() }, async |kit| {
        let first = kit.run("a").await;
        kit.store.append(&first, chunk(0, 1)).await.unwrap();
        for id in ["b", "c"] {
            kit.store.enqueue(&kit.owner, &needs(), new(id, Link::Alone), vec![]).await.unwrap();
        }
        let full = kit.store.enqueue(&kit.owner, &needs(), new("d", Link::Alone), vec![]).await;
        assert_eq!(full, Err(StoreError::QueueFull(2)));
        assert!(kit.store.claim(&served()).await.unwrap().is_none());
        let bob = Owner::new("bob");
        kit.store.enqueue(&bob, &needs(), new("e", Link::Alone), vec![]).await.unwrap();
        assert_eq!(kit.store.claim(&served()).await.unwrap().unwrap().lease.owner(), &bob);
        kit.store.finish(first, end(Status::Completed, "a")).await.unwrap();
        assert_eq!(kit.store.claim(&served()).await.unwrap().unwrap().lease.id(), "b");
    })
    .await;
}

#[tokio::test]
async fn who_lost_the_lease_writes_nothing() {
    each(Bounds::default(), async |kit| {
        let old = kit.run("r").await;
        kit.store.append(&old, chunk(0, 1)).await.unwrap();
        kit.clock.advance(Duration::from_secs(19));
        assert_eq!(kit.store.renew(vec![old.clone()]).await, Ok(vec![]));
        kit.clock.advance(Duration::from_secs(19));
        assert!(kit.store.sweep().await.unwrap().is_empty());
        kit.clock.advance(Duration::from_secs(1));
        let swept = kit.store.sweep().await.unwrap().remove(0);
        assert_eq!(swept.why, Orphaned::Lost);
        assert_eq!(kit.store.append(&old, chunk(1, 1)).await, Err(StoreError::LeaseLost));
        let end = end(Status::Failed, "r");
        assert_eq!(kit.store.finish(old.clone(), end.clone()).await, Err(StoreError::LeaseLost));
        assert_eq!(kit.store.renew(vec![old.clone()]).await, Ok(vec![old]));
        assert_eq!(kit.store.finish(swept.lease, end).await, Ok(Finished::Now));
        assert!(kit.store.claim(&served()).await.unwrap().is_none());
    })
    .await;
}

/// A runner that appends without a pause could be cancelled from elsewhere with luck only.
#[tokio::test]
async fn who_fences_a_response_ends_it_at_the_log_that_it_read() {
    each(Bounds::default(), async |kit| {
        let runner = kit.run("r").await;
        kit.store.append(&runner, chunk(0, 5)).await.unwrap();
        let fence = kit.store.fence(&kit.owner, "r").await.unwrap().unwrap();
        let log = follow(kit, "r", None).await.0.len() as u64;
        assert_eq!(kit.store.append(&runner, chunk(log, 1)).await, Err(StoreError::LeaseLost));
        assert_eq!(kit.store.renew(vec![runner.clone()]).await, Ok(vec![runner.clone()]));
        let second = kit.store.fence(&kit.owner, "r").await.unwrap().unwrap();
        let end = |status| End { last: Some(chunk(log, 1)), ..end(status, "r") };
        for late in [runner, fence] {
            assert_eq!(kit.store.finish(late, end(Status::Failed)).await, Err(StoreError::LeaseLost));
        }
        assert_eq!(kit.store.finish(second, end(Status::Cancelled)).await, Ok(Finished::Now));
        assert_eq!(follow(kit, "r", None).await, (numbered(0..6), true));
        assert_eq!(kit.store.fence(&kit.owner, "r").await, Ok(None));
    })
    .await;
}

/// One who fences a response and is lost leaves it as it was: it waits, or was lost under way.
#[tokio::test]
async fn fenced_and_left_response_waits_again_or_is_swept() {
    each(Bounds::default(), async |kit| {
        for _ in 0..5 {
            kit.store.enqueue(&kit.owner, &needs(), new("waits", Link::Alone), vec![]).await.unwrap();
            assert!(kit.store.fence(&kit.owner, "waits").await.unwrap().is_some());
            assert!(kit.store.claim(&served()).await.unwrap().is_none());
            kit.clock.advance(Duration::from_secs(20));
        }
        let lease = kit.store.claim(&served()).await.unwrap().unwrap().lease;
        kit.store.append(&lease, chunk(0, 1)).await.unwrap();
        assert!(kit.store.fence(&kit.owner, "waits").await.unwrap().is_some());
        assert!(kit.store.sweep().await.unwrap().is_empty());
        kit.clock.advance(Duration::from_secs(20));
        assert_eq!(kit.store.sweep().await.unwrap().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn claimed_and_unbegun_is_claimable_twice_again() {
    each(Bounds::default(), async |kit| {
        kit.store.enqueue(&kit.owner, &needs(), new("r", Link::Alone), vec![]).await.unwrap();
        for _ in 0..3 {
            assert!(kit.store.sweep().await.unwrap().is_empty());
            assert_eq!(kit.store.claim(&served()).await.unwrap().unwrap().lease.id(), "r");
            assert!(kit.store.claim(&served()).await.unwrap().is_none());
            kit.clock.advance(Duration::from_secs(20));
        }
        assert!(kit.store.claim(&served()).await.unwrap().is_none());
        assert_eq!(kit.store.sweep().await.unwrap().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn given_back_work_is_claimable_at_once_as_before() {
    each(Bounds::default(), async |kit| {
        kit.store.enqueue(&kit.owner, &needs(), new("r", Link::Alone), chunk(0, 2).events).await.unwrap();
        for _ in 0..9 {
            let old = kit.store.claim(&served()).await.unwrap().unwrap().lease;
            assert!(kit.store.claim(&served()).await.unwrap().is_none());
            assert_eq!(kit.store.release(old.clone()).await, Ok(()));
            assert_eq!(kit.store.release(old.clone()).await, Err(StoreError::LeaseLost), "it is nobody's");
            assert_eq!(kit.store.append(&old, chunk(2, 1)).await, Err(StoreError::LeaseLost));
            assert_eq!(kit.store.renew(vec![old.clone()]).await, Ok(vec![old]));
        }
        let lease = kit.store.claim(&served()).await.unwrap().unwrap().lease;
        kit.store.append(&lease, chunk(2, 1)).await.unwrap();
        assert_eq!(kit.store.release(lease.clone()).await, Err(StoreError::LeaseLost), "it has begun");
        kit.store.append(&lease, chunk(3, 1)).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn what_waits_is_claimed_by_who_serves_its_model_and_reads_its_request() {
    each(Bounds::default(), async |kit| {
        let needs = |model: &str, version| Needs { model: model.into(), version };
        let served = |models: &[&str], version| Served {
            models: models.iter().map(|model| (*model).to_owned()).collect(),
            version,
        };
        for (id, model, version) in [("a", "large", 1), ("b", "small", 2), ("c", "small", 1)] {
            let new = new(id, Link::Alone);
            kit.store.enqueue(&kit.owner, &needs(model, version), new, vec![]).await.unwrap();
        }
        let claim = async |models: &[&str], version| {
            let claimed = kit.store.claim(&served(models, version)).await.unwrap();
            claimed.map(|claimed| claimed.lease.id().to_owned())
        };
        assert_eq!(claim(&[], 9).await, None);
        assert_eq!(claim(&["other"], 9).await, None);
        assert_eq!(claim(&["small", "other"], 1).await.as_deref(), Some("c"));
        assert_eq!(claim(&["small"], 1).await, None);
        assert_eq!(claim(&["small", "large"], 2).await.as_deref(), Some("a"));
        assert_eq!(claim(&["small", "large"], 2).await.as_deref(), Some("b"));
    })
    .await;
}

/// It waited for ever.
#[tokio::test]
async fn what_nobody_serves_is_swept_after_a_time_and_what_waits_its_turn_is_not() {
    const MINUTE: Duration = Duration::from_mins(1);
    each(Bounds { running: 1, ..Bounds::default() }, async |kit| {
        let needs = |model: &str, version| Needs { model: model.into(), version };
        for (id, model, version) in
            [("runs", "model", 1), ("waits", "model", 1), ("gone", "gone", 1), ("newer", "model", 2)]
        {
            let new = new(id, Link::Alone);
            kit.store.enqueue(&kit.owner, &needs(model, version), new, vec![]).await.unwrap();
        }
        let running = kit.store.claim(&served()).await.unwrap().unwrap().lease;
        for _ in 0..9 {
            kit.clock.advance(MINUTE);
            assert_eq!(kit.store.renew(vec![running.clone()]).await, Ok(vec![]));
            assert!(kit.beside.claim(&served()).await.unwrap().is_none());
            assert_eq!(kit.store.sweep().await, Ok(vec![]));
        }
        // A date that is set is no time that passes.
        kit.clock.set(kit.clock.now() + 3_600_000);
        assert_eq!(kit.store.sweep().await, Ok(vec![]));
        kit.clock.advance(MINUTE);
        kit.store.renew(vec![running]).await.unwrap();
        let swept = kit.store.sweep().await.unwrap();
        let swept: Vec<_> = swept.iter().map(|swept| (swept.lease.id(), swept.why)).collect();
        assert_eq!(swept, [("gone", Orphaned::Unserved), ("newer", Orphaned::Unserved)]);
        assert_eq!(kit.beside.sweep().await, Ok(vec![]), "they are being ended");
    })
    .await;
}

/// A start with a model that takes long to load is no reason to give up what waits for it.
#[tokio::test]
async fn restart_gives_what_waits_all_the_time_again() {
    each(Bounds::default(), async |kit| {
        kit.store.enqueue(&kit.owner, &needs(), new("r", Link::Alone), vec![]).await.unwrap();
        kit.clock.advance(Duration::from_mins(9));
        if kit.reopen() {
            kit.clock.advance(Duration::from_mins(9));
            assert_eq!(kit.store.sweep().await, Ok(vec![]));
            kit.clock.advance(Duration::from_mins(1));
            assert_eq!(kit.store.sweep().await.unwrap().len(), 1);
        }
    })
    .await;
}

#[tokio::test]
async fn restart_sweeps_orphans_and_leaves_the_queue() {
    each(Bounds::default(), async |kit| {
        let lease = kit.run("running").await;
        kit.store.append(&lease, chunk(0, 1)).await.unwrap();
        kit.create("foreground", Link::Alone).await.unwrap();
        kit.store.enqueue(&kit.owner, &needs(), new("queued", Link::Alone), vec![]).await.unwrap();
        if kit.reopen() {
            let swept = kit.store.sweep().await.unwrap();
            let ids: Vec<&str> = swept.iter().map(|claimed| claimed.lease.id()).collect();
            assert_eq!(ids, ["running", "foreground"]);
            assert_eq!(kit.store.append(&lease, chunk(1, 1)).await, Err(StoreError::LeaseLost));
            assert_eq!(kit.store.claim(&served()).await.unwrap().unwrap().lease.id(), "queued");
        }
    })
    .await;
}

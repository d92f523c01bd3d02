//! The list of engines, and the learned number of slots.

use super::*;

#[test]
fn counts_outlive_a_new_list() {
    let now = Instant::now();
    let router = router(2);
    let leases: Vec<_> = (0..12).map(|key| select(&router, key, now)).collect();
    let before = in_flight(&router, now);
    list(&router, 0..3);
    assert_eq!(in_flight(&router, now)[..2], before);
    list(&router, 0..2);
    assert_eq!(in_flight(&router, now), before);
    drop(leases);
    assert_eq!(in_flight(&router, now), [0, 0]);
}

#[test]
fn a_removed_engine_drains() {
    let now = Instant::now();
    let router = router(1);
    let lease = select(&router, 1, now);
    list(&router, 1..2);
    let status = router.status(now);
    assert_eq!((status[0].in_flight, status[0].draining), (1, true));
    assert_eq!(*select(&router, 1, now).engine(), 1);
    assert_eq!(*lease.engine(), 0);
    drop(lease);
    assert_eq!(router.status(now).len(), 1);
}

#[test]
fn engine_returning_while_draining_keeps_its_count() {
    let now = Instant::now();
    let router = router(1);
    let lease = select(&router, 1, now);
    list(&router, []);
    assert!(matches!(refusal(&router, now), NoEngine::None { .. }));
    list(&router, 0..1);
    assert_eq!(in_flight(&router, now), [1]);
    drop(lease);
    assert_eq!(in_flight(&router, now), [0]);
}

#[test]
fn an_idle_engine_goes_at_once() {
    let now = Instant::now();
    let router = router(2);
    list(&router, []);
    assert!(router.status(now).is_empty());
}

#[test]
fn a_lease_that_outlives_the_router_is_harmless() {
    let now = Instant::now();
    let mut lease = select(&router(1), 1, now);
    lease.succeeded();
    lease.failed(now);
    assert_eq!(*lease.engine(), 0);
}

#[test]
fn a_new_engine_is_down_until_it_is_set_up() {
    let now = Instant::now();
    let router = Router::new(RoutingOptions::default());
    router.set_engines(vec![(name(0), 0)]);
    assert!(matches!(refusal(&router, now), NoEngine::None { .. }));
    router.set_up(&name(0), true);
    assert_eq!(*select(&router, 1, now).engine(), 0);
}

#[test]
fn an_engine_that_stays_gets_its_new_handle() {
    let now = Instant::now();
    let router = router(1);
    let old = select(&router, 1, now);
    router.set_engines(vec![(name(0), 5)]);
    let new = select(&router, 1, now);
    assert_eq!((*old.engine(), *new.engine()), (0, 5));
    assert_eq!(in_flight(&router, now), [2]);
}

#[test]
fn slots_are_what_runs_while_requests_wait() {
    let now = Instant::now();
    let router = router(1);
    let slots = |load| {
        router.report(&name(0), load, now);
        router.status(now)[0].slots.unwrap()
    };
    // One report with a waiting request isn't enough: it may be on its way into the batch.
    assert_eq!(slots(gauges(4, 1)), 8);
    assert_eq!(slots(gauges(4, 1)), 4);
    assert_eq!(slots(gauges(0, 1)), 1);
    // All slots are used and nothing waits: the engine has more.
    assert_eq!(slots(gauges(4, 0)), 5);
    assert_eq!(slots(gauges(3, 0)), 5);
    assert_eq!(slots(gauges(40, 0)), 45);
}

#[test]
fn slots_that_the_engine_tells_are_not_learned() {
    let now = Instant::now();
    let router = router(1);
    router.set_behind(&name(0), Behind::One(Some(3)));
    for load in [gauges(40, 0), gauges(1, 5), gauges(1, 5)] {
        router.report(&name(0), load, now);
        assert_eq!(router.status(now)[0].slots, Some(3));
    }
    router.set_behind(&name(0), Behind::One(None));
    router.report(&name(0), gauges(16, 0), now);
    assert_eq!(router.status(now)[0].slots, Some(18));
}

#[test]
fn unknown_names_are_ignored() {
    let now = Instant::now();
    let router = router(1);
    router.report("http://other", gauges(50, 50), now);
    router.set_up("http://other", false);
    assert_eq!(router.status(now)[0].slots, Some(8));
}

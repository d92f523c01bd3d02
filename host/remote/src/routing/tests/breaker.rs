//! States of the breaker, from the first failure to its closing.

use super::*;
use crate::routing::BreakerState;

fn fail(router: &Router<usize>, times: usize, now: Instant) {
    for _ in 0..times {
        select(router, 1, now).failed(now);
    }
}

fn state(router: &Router<usize>, now: Instant) -> BreakerState {
    router.status(now)[0].breaker
}

fn retry_after(router: &Router<usize>, now: Instant) -> Duration {
    match refusal(router, now) {
        NoEngine::None { retry_after } => retry_after,
        NoEngine::NotUsable => panic!("there are usable engines"),
    }
}

#[test]
fn five_failures_in_ten_seconds_open_it() {
    let start = Instant::now();
    let router = router(1);
    fail(&router, 1, start);
    fail(&router, 4, start + seconds(11));
    assert_eq!(state(&router, start + seconds(11)), BreakerState::Closed);
    fail(&router, 1, start + seconds(12));
    assert_eq!(state(&router, start + seconds(12)), BreakerState::Open);
    assert_eq!(retry_after(&router, start + seconds(14)), seconds(3));
}

#[test]
fn it_is_open_twice_as_long_after_each_failed_probe() {
    let mut now = Instant::now();
    let router = router(1);
    fail(&router, 5, now);
    for open in [5, 10, 20, 40, 60, 60] {
        assert_eq!(retry_after(&router, now), seconds(open));
        now += seconds(open);
        assert_eq!(state(&router, now), BreakerState::HalfOpen);
        fail(&router, 1, now);
    }
    now += seconds(60);
    select(&router, 1, now).succeeded();
    assert_eq!(state(&router, now), BreakerState::Closed);
    fail(&router, 5, now);
    assert_eq!(retry_after(&router, now), seconds(5));
}

#[test]
fn threads_get_exactly_one_probe() {
    let start = Instant::now();
    let router = router(1);
    fail(&router, 5, start);
    let now = start + seconds(5);
    let leases: Vec<_> = std::thread::scope(|scope| {
        let selects =
            || (0..100).filter_map(|key| router.select(key, |_| true, &[], now).ok()).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(selects)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(leases.len(), 1);
    assert_eq!(retry_after(&router, now), seconds(1));
}

#[test]
fn a_probe_without_outcome_makes_room_for_another() {
    let start = Instant::now();
    let router = router(1);
    fail(&router, 5, start);
    let now = start + seconds(5);
    drop(select(&router, 1, now));
    let mut probe = select(&router, 1, now);
    probe.succeeded();
    assert_eq!(state(&router, now), BreakerState::Closed);
}

#[test]
fn requests_from_before_do_not_decide_a_probe() {
    let start = Instant::now();
    let router = router(1);
    let (mut slow, mut late) = (select(&router, 1, start), select(&router, 1, start));
    fail(&router, 5, start);
    slow.succeeded();
    assert_eq!(state(&router, start), BreakerState::Open);
    let now = start + seconds(5);
    let mut probe = select(&router, 1, now);
    late.failed(now);
    drop((slow, late));
    assert!(matches!(refusal(&router, now), NoEngine::None { .. }));
    probe.succeeded();
    assert_eq!(state(&router, now), BreakerState::Closed);
}

#[test]
fn a_lease_fails_once_and_then_stays_failed() {
    let start = Instant::now();
    let router = router(1);
    let mut lease = select(&router, 1, start);
    for _ in 0..5 {
        lease.failed(start);
    }
    assert_eq!(state(&router, start), BreakerState::Closed);
    fail(&router, 4, start);
    let now = start + seconds(5);
    let mut probe = select(&router, 1, now);
    probe.failed(now);
    probe.succeeded();
    assert_eq!(state(&router, now), BreakerState::Open);
}

#[test]
fn a_failure_after_a_success_counts() {
    let now = Instant::now();
    let router = router(1);
    for _ in 0..5 {
        let mut cut = select(&router, 1, now);
        cut.succeeded();
        cut.failed(now);
    }
    assert_eq!(state(&router, now), BreakerState::Open);
}

#[test]
fn an_open_engine_leaves_its_keys_to_others() {
    let now = Instant::now();
    let router = router(2);
    let home = *select(&router, 1, now).engine();
    fail(&router, 5, now);
    assert_eq!(*select(&router, 1, now).engine(), 1 - home);
    let mut probe = select(&router, 1, now + seconds(5));
    assert_eq!(*probe.engine(), home);
    probe.succeeded();
    assert_eq!(*select(&router, 1, now + seconds(5)).engine(), home);
}

#[test]
fn gateway_has_no_breaker_and_no_slots() {
    let (router, now) = (router(1), Instant::now());
    router.set_behind(&name(0), Behind::Many);
    for _ in 0..20 {
        select(&router, 1, now).failed(now);
    }
    router.report(&name(0), gauges(40, 3), now);
    router.report(&name(0), gauges(40, 3), now);
    let status = &router.status(now)[0];
    assert_eq!((status.breaker, status.slots, status.others), (BreakerState::Closed, None, 0));
    router.set_behind(&name(0), Behind::One(Some(3)));
    assert_eq!(router.status(now)[0].slots, Some(3));
}

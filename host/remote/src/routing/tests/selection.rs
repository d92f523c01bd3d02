//! Tests of which engine takes a request.

use std::collections::HashMap;

use super::*;
use crate::routing::Affinity;

#[test]
fn a_key_stays_on_its_engine() {
    let now = Instant::now();
    let router = router(8);
    let first = select(&router, 7, now);
    let second = select(&router, 7, now);
    assert_eq!(first.engine(), second.engine());
    assert_eq!((first.affinity(), second.affinity()), (Affinity::New, Affinity::Hit));
}

#[test]
fn load_is_counted_at_selection() {
    let now = Instant::now();
    let router = router(2);
    // Nine requests of one key are selected before any engine has heard of one.
    let leases: Vec<_> = (0..9).map(|_| select(&router, 1, now)).collect();
    let home = *leases[0].engine();
    assert_eq!(leases.iter().filter(|lease| *lease.engine() == home).count(), 8);
    assert_eq!(*leases[8].engine(), 1 - home);
    drop(leases);
    assert_eq!(in_flight(&router, now), [0, 0]);
}

#[test]
fn two_routers_with_the_same_engines_agree() {
    let now = Instant::now();
    let (one, other) = (router(16), router(0));
    list(&other, (0..16).rev());
    for key in 0..1000 {
        assert_eq!(select(&one, key, now).engine(), select(&other, key, now).engine());
    }
}

#[test]
fn rendezvous_order_is_the_same_in_every_build() {
    let now = Instant::now();
    let router = router(16);
    let engines: Vec<_> = (0..8).map(|key| *select(&router, key, now).engine()).collect();
    assert_eq!(engines, [4, 10, 8, 10, 2, 3, 12, 0]);
}

#[test]
fn a_removed_engine_moves_its_own_keys_only() {
    let now = Instant::now();
    let options = RoutingOptions { remembered_keys: 0, ..RoutingOptions::default() };
    let router = with_options(8, options);
    let before: Vec<_> = (0..1000).map(|key| *select(&router, key, now).engine()).collect();
    list(&router, 0..7);
    for (key, engine) in (0..).zip(before) {
        let after = *select(&router, key, now).engine();
        assert!(after == engine || engine == 7, "key {key} moved from {engine} to {after}");
    }
}

#[test]
fn keys_of_a_lost_engine_spread_over_the_others() {
    let now = Instant::now();
    let router = router(4);
    let of_first: Vec<u64> = (0..400).filter(|&key| *select(&router, key, now).engine() == 0).collect();
    router.set_up(&name(0), false);
    let mut taken = HashMap::new();
    for key in &of_first {
        *taken.entry(*select(&router, *key, now).engine()).or_insert(0) += 1;
    }
    assert_eq!(taken.len(), 3);
    assert!(taken.values().all(|&count| count * 2 > of_first.len() / 3), "{taken:?}");
}

#[test]
fn misses_do_not_pile_up_on_one_engine() {
    let now = Instant::now();
    let router = router(8);
    let leases: Vec<_> = (0..800).map(|key| select(&router, key, now)).collect();
    assert!(in_flight(&router, now).iter().all(|&count| count <= 125), "{:?}", in_flight(&router, now));
    drop(leases);
}

#[test]
fn a_spill_does_not_forget_the_keys_engine() {
    let now = Instant::now();
    let router = router(4);
    let mut leases: Vec<_> = (0..9).map(|_| select(&router, 1, now)).collect();
    let home = *leases[0].engine();
    assert_eq!(leases[8].affinity(), Affinity::Moved);
    leases.remove(0);
    let next = select(&router, 1, now);
    assert_eq!((*next.engine(), next.affinity()), (home, Affinity::Hit));
}

#[test]
fn a_spill_is_remembered_where_no_other_host_routes() {
    let now = Instant::now();
    let router = router(4);
    (0..4).for_each(|engine| router.report(&name(engine), gauges(0, 0), now));
    let mut leases: Vec<_> = (0..9).map(|_| select(&router, 1, now)).collect();
    assert_eq!(leases[8].affinity(), Affinity::Moved);
    leases.remove(0);
    assert_eq!(select(&router, 1, now).engine(), leases[7].engine());
}

#[test]
fn spilled_new_key_is_not_remembered_for_other_hosts() {
    let now = Instant::now();
    let router = router(4);
    let busy: Vec<_> = (0..8).map(|_| select(&router, 1, now)).collect();
    let home = *busy[0].engine();
    let key = (2..1000)
        .find(|&key| *self::router(4).select(key, |_| true, &[], now).unwrap().engine() == home)
        .unwrap();
    let spilled = select(&router, key, now);
    assert_ne!(*spilled.engine(), home);
    drop(busy);
    let next = select(&router, key, now);
    assert_eq!((*next.engine(), next.affinity()), (home, Affinity::New));
}

#[test]
fn a_key_whose_engine_went_down_stays_where_it_went() {
    let now = Instant::now();
    let router = router(4);
    let home = *select(&router, 1, now).engine();
    router.set_up(&name(home), false);
    let next = *select(&router, 1, now).engine();
    router.set_up(&name(home), true);
    assert_eq!(*select(&router, 1, now).engine(), next);
}

/// Number of requests on key 1's first engine after key 1 came as a new key; the engine had 3
/// requests of another key before.
fn on_first_engine(others: Option<u32>) -> u32 {
    let now = Instant::now();
    let router = router(4);
    let first = *self::router(4).select(1, |_| true, &[], now).unwrap().engine();
    let busy = (2..1000).find(|&key| *select(&router, key, now).engine() == first).unwrap();
    let _leases: Vec<_> = (0..3).map(|_| select(&router, busy, now)).collect();
    if let Some(others) = others {
        (0..4).for_each(|engine| {
            router.report(&name(engine), gauges(others + in_flight(&router, now)[engine], 0), now);
        });
    }
    let _new = select(&router, 1, now);
    in_flight(&router, now)[first]
}

#[test]
fn new_key_goes_by_load_unless_others_must_find_it() {
    assert_eq!(on_first_engine(Some(0)), 3);
    assert_eq!(on_first_engine(Some(1)), 4);
}

#[test]
fn without_reports_there_may_be_other_hosts() {
    assert_eq!(on_first_engine(None), 4);
}

#[test]
fn slots_let_a_load_be_above_the_mean_by_a_share_only() {
    let now = Instant::now();
    let router = router(4);
    for load in [gauges(100, 0), gauges(0, 0)] {
        (0..4).for_each(|engine| router.report(&name(engine), load, now));
    }
    let leases: Vec<_> = (0..40).map(|_| select(&router, 1, now)).collect();
    let most = in_flight(&router, now).into_iter().max().unwrap();
    // Each engine has 112 slots. For 40 requests 1.25 × the mean is 13, 1.75 × the mean 18.
    assert!((14..=18).contains(&most), "{most}");
    drop(leases);
}

#[test]
fn a_full_engine_is_taken_only_if_all_are() {
    let now = Instant::now();
    let router = router(2);
    let home = *select(&router, 1, now).engine();
    let full = ReportedLoad { kv_used: Some(0.95), ..ReportedLoad::default() };
    router.report(&name(home), full, now);
    let leases: Vec<_> = (0..50).map(|_| select(&router, 1, now)).collect();
    assert!(leases.iter().all(|lease| *lease.engine() == 1 - home));
    router.report(&name(1 - home), full, now);
    assert_eq!(*select(&router, 1, now).engine(), home);
}

#[test]
fn an_old_report_counts_no_longer() {
    let now = Instant::now();
    let router = router(2);
    let home = *select(&router, 1, now).engine();
    router.report(&name(home), ReportedLoad { running: 30, waiting: 0, kv_used: Some(1.0) }, now);
    assert_eq!(*select(&router, 1, now + seconds(10)).engine(), 1 - home);
    assert_eq!(*select(&router, 1, now + seconds(11)).engine(), home);
}

#[test]
fn requests_of_other_hosts_are_load() {
    let now = Instant::now();
    let router = router(2);
    let lease = select(&router, 1, now);
    let home = *lease.engine();
    // One of the seven running requests is this router's.
    router.report(&name(home), gauges(7, 0), now);
    assert_eq!(router.status(now)[home].others, 6);
    assert_eq!(*select(&router, 1, now).engine(), home);
    router.report(&name(home), gauges(7, 1), now);
    assert_eq!(*select(&router, 1, now).engine(), 1 - home);
}

#[test]
fn excluded_engines_are_passed_over() {
    let now = Instant::now();
    let router = router(3);
    let mut excluded = Vec::new();
    for _ in 0..3 {
        excluded.push(Arc::clone(router.select(1, |_| true, &excluded, now).unwrap().name()));
    }
    excluded.sort();
    assert_eq!(excluded, [name(0), name(1), name(2)]);
    assert!(matches!(router.select(1, |_| true, &excluded, now), Err(NoEngine::None { .. })));
}

#[test]
fn unusable_is_told_from_unavailable() {
    let now = Instant::now();
    let router = router(2);
    let refused = |usable: fn(&usize) -> bool| router.select(1, usable, &[], now).err();
    assert_eq!(refused(|_| false), Some(NoEngine::NotUsable));
    router.set_up(&name(1), false);
    assert_eq!(refused(|&engine| engine == 1), Some(NoEngine::None { retry_after: seconds(5) }));
    assert_eq!(refused(|&engine| engine == 2), Some(NoEngine::NotUsable));
    list(&router, []);
    assert_eq!(refused(|_| true), Some(NoEngine::None { retry_after: seconds(5) }));
}

#[test]
fn remembered_keys_are_bounded() {
    let now = Instant::now();
    let router = with_options(4, RoutingOptions { remembered_keys: 64, ..RoutingOptions::default() });
    for key in 0..10_000 {
        drop(select(&router, key, now));
    }
    assert_eq!(router.remembered(), 64);
    assert_eq!(select(&router, 9_999, now).affinity(), Affinity::Hit);
    assert_eq!(select(&router, 0, now).affinity(), Affinity::New);
}

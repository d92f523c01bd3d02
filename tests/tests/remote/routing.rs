//! The router in a small simulation: 2,000 conversations on 8 engines that crash, fail, are added
//! and are removed.

use tests::routing::{BOUNDED_TREE, Figures, Keys, NamedPolicy, OURS, Scenario, conversations, simulate};

fn run(scenario: Scenario, policy: NamedPolicy) -> Figures {
    simulate(&scenario, &conversations(&scenario), policy)
}

/// Cache hit rate in thousandths, so that integers are compared.
fn hits(figures: &Figures) -> u64 {
    figures.own_hits * 1000 / figures.own_tokens
}

#[test]
fn routing_hits_nearly_like_a_tree_and_spreads_load() {
    let (ours, tree) = (run(Scenario::SMALL, OURS), run(Scenario::SMALL, BOUNDED_TREE));
    assert!(hits(&ours) * 10 >= hits(&tree) * 9, "{} of {}", hits(&ours), hits(&tree));
    assert!(ours.loads.max_imbalance() <= 1.5, "{}", ours.loads.max_imbalance());
}

#[test]
fn three_hosts_that_share_nothing_do_too() {
    let scenario = Scenario { hosts: 3, ..Scenario::SMALL };
    let (ours, tree) = (run(scenario, OURS), run(scenario, BOUNDED_TREE));
    assert!(hits(&ours) * 10 >= hits(&tree) * 9, "{} of {}", hits(&ours), hits(&tree));
    assert!(ours.loads.max_imbalance() <= 1.6, "{}", ours.loads.max_imbalance());
}

#[test]
fn every_turn_is_served_in_the_end() {
    let scenario = Scenario { keys: Keys::CacheKeyAlone, ..Scenario::SMALL };
    let turns: u64 = conversations(&scenario).iter().map(|conversation| u64::from(conversation.turns)).sum();
    let figures = run(scenario, OURS);
    // A turn whose answer was cut off by a crash is served twice.
    assert!((turns..=turns + figures.failures + figures.retries).contains(&figures.requests));
}

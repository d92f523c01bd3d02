//! Properties of whole turns: no cutting of the stream changes the items, and no parser breaks
//! them.

use super::*;
use crate::oracle::{Cuts, FRAGMENTS, check_arbitrary, check_conforming, check_cuts, check_markers};
use proptest::prelude::*;

fn stream() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&FRAGMENTS[..]), 0..24)
        .prop_map(|fragments| fragments.concat())
}

/// Sizes to cut by, used over and over.
fn sizes() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1_usize..6, 1..5)
}

fn policy() -> impl Strategy<Value = FaultPolicy> {
    prop::sample::select(&[FaultPolicy::Continue, FaultPolicy::ContinueInCalls, FaultPolicy::Fail][..])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn items_are_the_same_for_any_cuts_groups_and_markers(
        streams in (stream(), stream()), (a, b, groups) in (sizes(), sizes(), sizes()),
        style in 0_u8..4, trim in any::<bool>(),
    ) {
        check_cuts(&streams.0, &streams.1, Cuts { prompt: &a, text: &b, steps: &groups }, style, trim);
    }

    #[test]
    fn undropped_bytes_come_out_once_and_in_order(
        text in stream(), (a, groups) in (sizes(), sizes()), seed in 1_u64..,
    ) {
        check_conforming(&text, Cuts { prompt: &[1], text: &a, steps: &groups }, seed);
    }

    #[test]
    fn whatever_a_parser_answers_the_turn_is_well_formed(
        streams in (stream(), stream()), (a, groups) in (sizes(), sizes()), seed in 1_u64..,
        trim in any::<bool>(), policy in policy(),
    ) {
        let cuts = Cuts { prompt: &a, text: &a, steps: &groups };
        check_arbitrary(&streams.0, &streams.1, cuts, seed, trim, policy);
    }

    #[test]
    fn markers_are_leftmost_then_longest_at_any_cuts(
        literals in prop::collection::vec("[ab<é]{1,4}", 1..6), text in "[ab<éx]{0,40}", sizes in sizes(),
    ) {
        check_markers(&literals, &text, &sizes);
    }
}

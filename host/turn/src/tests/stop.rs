//! Stop strings: where they cut, and where they don't.

use super::*;
use crate::{StopPatterns, StopStrings};
use proptest::prelude::*;

fn patterns(stops: &[&str]) -> StopPatterns {
    StopPatterns::new(&literals(stops))
}

/// The items that come out of the filter, and whether it ended the turn.
fn filtered(stops: &[&str], events: impl IntoIterator<Item = TurnEvent>) -> (Vec<FoldedItem>, bool) {
    let mut filter = StopStrings::new(patterns(stops));
    let mut out = TurnEvents::default();
    let mut ended = false;
    for event in events {
        ended = filter.filter(event, &mut out);
    }
    (fold(out).unwrap(), ended)
}

fn item(head: ItemHead, pieces: &[&str]) -> Vec<TurnEvent> {
    let texts = pieces.iter().map(|piece| TurnEvent::Text((*piece).into()));
    [TurnEvent::Open(head)]
        .into_iter()
        .chain(texts)
        .chain([TurnEvent::Close(ItemStatus::Completed)])
        .collect()
}

fn said(pieces: &[&str]) -> Vec<TurnEvent> {
    item(ItemHead::Message { phase: Phase::Unspecified }, pieces)
}

#[test]
fn stop_string_ends_the_message_and_nothing_follows() {
    let events = [said(&["one", " E", "N", "D two"]), item(ItemHead::Reasoning, &["three"])].concat();
    assert_eq!(filtered(&["END"], events), (vec![message("one ")], true));
}

#[test]
fn stop_string_is_shown_where_that_is_asked_for() {
    let mut filter = StopStrings::new(patterns(&["END"])).with_stop_shown(true);
    let mut out = TurnEvents::default();
    let ended = said(&["one", " E", "ND two"]).into_iter().any(|event| filter.filter(event, &mut out));
    assert_eq!((fold(out).unwrap(), ended), (vec![message("one END")], true));
}

#[test]
fn stop_string_within_the_least_tokens_does_not_count() {
    for (least, text, ends) in [(0, "x", true), (1, "xab", true), (2, "xabab", true), (3, "xabababy", false)]
    {
        let mut filter = StopStrings::new(patterns(&["ab"])).with_min_tokens(least);
        let mut out = TurnEvents::default();
        // The first event is the message's begin: the event of index n is that of token n.
        let ended = (0..).zip(said(&["xab", "aba", "b", "y"])).any(|(token, event)| {
            filter.counted(token);
            filter.filter(event, &mut out)
        });
        assert_eq!((fold(out).unwrap(), ended), (vec![message(text)], ends), "at least {least}");
    }
}

#[test]
fn what_only_began_like_a_stop_string_is_text() {
    assert_eq!(filtered(&["END"], said(&["E", "EN", "X EN"])), (vec![message("EENX EN")], false));
}

#[test]
fn a_stop_string_does_not_reach_over_two_messages() {
    let events = [said(&["EN"]), said(&["D"])].concat();
    assert_eq!(filtered(&["END"], events), (vec![message("EN"), message("D")], false));
}

#[test]
fn reasoning_and_arguments_are_not_searched() {
    let events = item(ItemHead::Reasoning, &["END"]);
    assert_eq!(filtered(&["END"], events), (vec![reasoning("END")], false));
    let head =
        ItemHead::ToolCall { call_id: "call_1".into(), name: "weather".into(), payload: Payload::Json };
    assert_eq!(filtered(&["END"], item(head, &["END"])), (vec![tool_call(1, "weather", "END")], false));
}

#[test]
fn message_of_only_a_stop_string_never_comes_to_be() {
    assert_eq!(filtered(&["END"], said(&["END"])), (vec![], true));
}

#[test]
fn earliest_then_longest_complete_stop_string_cuts() {
    assert_eq!(filtered(&["bcd", "c"], said(&["abcd"])).0, [message("ab")]);
    assert_eq!(filtered(&["c", "bc", ""], said(&["abcd"])).0, [message("a")]);
}

#[test]
fn the_stop_string_that_came_can_be_told() {
    for (text, came) in [("abcd", Some("bc")), ("aXc", Some("Xc")), ("c", Some("c")), ("ab", None)] {
        let mut filter = StopStrings::new(patterns(&["", "c", "bc", "Xc", "never"]));
        let ended = said(&[text]).into_iter().any(|event| filter.filter(event, &mut TurnEvents::default()));
        assert_eq!((filter.found(), ended), (came, came.is_some()));
    }
}

#[test]
fn text_that_can_be_no_stop_string_passes_at_once() {
    let mut filter = StopStrings::new(patterns(&["\n\n"]));
    let mut out = TurnEvents::default();
    for event in said(&["a\n"]).into_iter().take(2) {
        assert!(!filter.filter(event, &mut out));
    }
    assert_eq!(out[1..], [TurnEvent::Text("a".into())]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cut_is_at_first_complete_stop_string_in_any_pieces(
        stops in prop::collection::vec("[ab]{1,3}|é[ab]", 1..4),
        pieces in prop::collection::vec("[abcé]{1,4}", 0..6),
    ) {
        let text = pieces.concat();
        let cuts = stops.iter().filter_map(|stop| text.find(stop).map(|at| (at + stop.len(), at)));
        let cut = cuts.min().map(|(_, at)| at);
        let shown = &text[..cut.unwrap_or(text.len())];
        let expected = if shown.is_empty() { vec![] } else { vec![message(shown)] };
        let stops: Vec<&str> = stops.iter().map(String::as_str).collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        if !pieces.is_empty() {
            prop_assert_eq!(filtered(&stops, said(&pieces)), (expected, cut.is_some()));
        }
    }
}

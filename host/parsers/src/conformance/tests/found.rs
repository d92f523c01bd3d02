//! Tests of which failures are found, and how they are reported.

use super::toy::{Habit, Native};
use super::{Property, TURN, failing, recording, report, reproduced};
use crate::conformance::play_case;

#[test]
fn clean_parser_keeps_every_property_all_checked() {
    let report = report(Habit::None, TURN);
    for finding in &report.findings {
        assert!(finding.passed, "{finding:?}");
        assert!(finding.checks > 0, "{finding:?}");
    }
    assert!(report.passed);
    let growth = &report.findings[Property::Growth as usize].figures;
    let rows = growth["rows"].as_array().unwrap();
    let kinds: Vec<_> = rows.iter().map(|row| row["what"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["reasoning", "a message", "a string argument", "a turn with calls"]);
}

#[test]
fn kinds_of_turns_that_no_case_shows_are_named() {
    let uncovered = report(Habit::None, TURN).uncovered;
    for kind in
        ["text alone", "reasoning before a call", "two calls", "a call that is cut off", "markup in prose"]
    {
        assert!(uncovered.contains(&kind), "{uncovered:?}");
    }
    for kind in ["reasoning before an answer", "text before a call"] {
        assert!(!uncovered.contains(&kind), "{uncovered:?}");
    }
}

#[test]
fn other_items_or_another_end_than_expected_fail() {
    let wrong = TURN.replace("\"Here is the answer.\"}", "\"Here is no answer.\"}");
    assert!(failing(Habit::None, &wrong).contains(&Property::Items));
    assert_eq!(failing(Habit::None, &TURN.replace("completed", "failed")), [Property::Items]);
}

#[test]
fn overpromising_template_is_found_with_seed_and_text() {
    assert_eq!(failing(Habit::Overpromises, TURN), [Property::Grammar]);
    let findings = report(Habit::Overpromises, TURN).findings;
    let failure = &findings[Property::Grammar as usize].failures[0];
    assert!(failure.case.contains("is named") && failure.case.contains("seed 1"), "{}", failure.case);
    assert!(failure.what.starts_with("a message beside the demanded call\n"), "{}", failure.what);
    let case = failure.reproduce.clone().unwrap();
    let items = play_case(&recording(Habit::Overpromises, &case)).items.unwrap();
    assert!(items.len() > 1 && failure.what.contains("<call>"), "the case that is printed shows it: {case}");
}

#[test]
fn routing_more_than_is_held_breaks_conservation() {
    assert!(failing(Habit::Overdraws, TURN).contains(&Property::Conservation));
}

#[test]
fn chunk_dependent_items_are_found_by_least_chunking() {
    assert_eq!(failing(Habit::TrimsChunks, TURN)[..1], [Property::Splits]);
    let case = reproduced(Habit::TrimsChunks, Property::Splits);
    assert_eq!(case["chunks"].as_array().unwrap().len(), 2, "{case}");
    let outcome = play_case(&recording(Habit::TrimsChunks, &case));
    let healthy = play_case(&recording(Habit::None, &case));
    assert_ne!(outcome.items, healthy.items, "the case that is printed shows it");
}

/// Text of the only failure of split invariance.
fn said_of_splits(habit: Habit) -> String {
    let findings = report(habit, TURN).findings;
    findings[Property::Splits as usize].failures[0].what.clone()
}

#[test]
fn passing_fault_is_reported_as_its_outcome_had_it() {
    // The case in its own chunks is stream 0, the first chunking stream 1; no chunking fails when
    // it is played again.
    assert_eq!(failing(Habit::FailsOnce(1), TURN), [Property::Splits]);
    let what = said_of_splits(Habit::FailsOnce(1));
    assert!(what.contains("the parser failed: this time") && what.contains("played again"), "{what}");
    let case = reproduced(Habit::FailsOnce(4), Property::Splits);
    assert!(
        case["chunks"].as_array().unwrap().len() > 2,
        "its own chunking (every 7), not a smaller one: {case}"
    );
}

#[test]
fn fault_of_the_case_as_cut_is_told_from_a_chunkings() {
    let what = said_of_splits(Habit::FailsOnce(0));
    assert!(what.contains("as it is cut the parser failed: this time"), "{what}");
    assert!(!what.contains("played again"), "{what}");
}

#[test]
fn turn_left_open_when_cut_is_found_where_it_begins() {
    assert_eq!(failing(Habit::GivesUp, TURN), [Property::Truncation]);
    let case = reproduced(Habit::GivesUp, Property::Truncation);
    let text: String =
        case["chunks"].as_array().unwrap().iter().map(|chunk| chunk.as_str().unwrap()).collect();
    assert!(text.ends_with("<call>get:"), "{text}");
    assert!(play_case(&recording(Habit::GivesUp, &case)).fault.is_some());
}

#[test]
fn arguments_not_prefixing_the_expected_are_found() {
    assert_eq!(failing(Habit::Guesses, TURN), [Property::ArgumentPrefix]);
    assert!(failing(Habit::ShowsEarly, TURN).contains(&Property::ArgumentPrefix));
}

#[test]
fn call_swallowing_its_end_for_a_lost_quote_is_found() {
    assert_eq!(failing(Habit::ReadsOn, TURN), [Property::LostQuote]);
    let case = reproduced(Habit::ReadsOn, Property::LostQuote);
    assert_eq!(case["expect"]["items"][2]["status"], "incomplete", "{case}");
    let played = |habit| play_case(&recording(habit, &case)).items;
    assert_ne!(played(Habit::ReadsOn), played(Habit::None));
}

#[test]
fn words_and_calls_lost_in_silence_are_found() {
    assert_eq!(failing(Habit::SkipsBehindCalls, TURN), [Property::NothingLost]);
    let case = reproduced(Habit::SkipsBehindCalls, Property::NothingLost);
    let items = |habit| format!("{:?}", play_case(&recording(habit, &case)).items.unwrap());
    assert!(!items(Habit::SkipsBehindCalls).contains("quoll") && items(Habit::None).contains("quoll"));
    assert_eq!(failing(Habit::TakesTheNext, TURN), [Property::NothingLost]);
}

#[test]
fn silence_is_found_in_arguments_and_in_text() {
    assert_eq!(failing(Habit::BuffersArguments, TURN), [Property::Silence]);
    assert!(failing(Habit::BuffersText, TURN).contains(&Property::Silence));
}

#[test]
fn cost_that_grows_with_the_stream_is_found() {
    assert_eq!(failing(Habit::ScansAgain, TURN), [Property::Growth]);
}

#[test]
fn what_is_used_beyond_its_limit_is_found() {
    assert!(failing(Habit::Chatters, TURN).contains(&Property::Limits));
    assert!(failing(Habit::Hoards, TURN).contains(&Property::Limits));
}

#[test]
fn what_only_a_long_stream_loses_is_found() {
    assert_eq!(failing(Habit::Forgets, TURN), [Property::Growth]);
}

#[test]
fn a_look_alike_stays_text_in_every_chunking() {
    let case = r#"{
      "markers": "id",
      "chunks": ["I write </call>", {"text": "<think>", "ids": []}, "and <end> too", {"text": "<end>", "ids": [1]}],
      "expect": {"items": [{"type": "message", "text": "I write </call>"}, {"type": "reasoning", "text": "and <end> too"}]}
    }"#;
    assert_eq!(failing(Habit::None, case), []);
}

#[test]
fn report_is_decided_by_its_seed_and_needs_cases() {
    let again = || serde_json::to_string(&report(Habit::TrimsChunks, TURN)).unwrap();
    assert_eq!(again(), again());
    let error = crate::conformance::test(&[], &Native(Habit::None), 1).unwrap_err();
    assert!(error.contains("no cases"), "{error}");
}

//! Compares a turn's result with the expected one: no byte is lost, and the items are equal.

use parser_kit::case::CaseItem;

use super::play::{Ending, Outcome, play};
use super::recording::Recording;
use super::report::{Property, Tally};
use super::tape::Tape;

/// Plays a tape, and checks that no byte was lost or doubled.
pub(super) fn counted(
    recording: &Recording,
    tape: &Tape,
    cuts: &[usize],
    ending: Ending,
    tally: &mut Tally,
) -> Outcome {
    let outcome = play(recording, tape, cuts, ending);
    tally.count(Property::Conservation);
    tally.bytes += outcome.fed;
    if let Err(what) = outcome.balance() {
        let case = recording.written(tape, cuts, recording.finish, &what);
        tally.fail(Property::Conservation, &recording.name, what, Some(case));
    }
    outcome
}

/// Describes how the outcome differs from the expected items, or the fault; `None` if it doesn't.
pub(super) fn difference(outcome: &Outcome, expected: &[CaseItem]) -> Option<String> {
    if let Some(fault) = &outcome.fault {
        return Some(format!("the parser failed: {}", fault.in_full()));
    }
    match &outcome.items {
        Err(error) => Some(format!("its events make no items: {error}")),
        Ok(items) if items != expected => Some(got_and_expected(items, expected)),
        Ok(_) => None,
    }
}

/// Both lists of items, one item per line.
fn got_and_expected(got: &[CaseItem], expected: &[CaseItem]) -> String {
    let lines =
        |items: &[CaseItem]| items.iter().fold(String::new(), |lines, item| lines + "\n    " + &json(item));
    format!("got:{}\n  expected:{}", lines(got), lines(expected))
}

pub(super) fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("plain data")
}

/// The first 400 characters of an explanation, which may quote a stretched string.
pub(super) fn shortened(what: &str) -> String {
    match what.char_indices().nth(400) {
        Some((at, _)) => format!("{}…", &what[..at]),
        None => what.to_owned(),
    }
}

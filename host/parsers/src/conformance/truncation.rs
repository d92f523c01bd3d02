//! Truncation: wherever the stream is cut off, and for whatever reason, the turn ends well-formed
//! in every protocol; and the part of a call's arguments that a client has seen until then is a
//! prefix of what the whole case expects.

use parser_kit::case::{CaseItem, CaseStatus};
use parser_kit::is_left_over;
use seeded::SplitMix64;

use super::compare::counted;
use super::play::{Ending, Outcome, play};
use super::recording::Recording;
use super::report::{Property, Tally};
use super::shapes::ValidShapes;
use super::shrink;
use super::tape::Tape;
use contract::FinishReason;
use turn::TurnEnd;

/// Most places at which a stream is cut off. Streams with more atoms are cut off at so many random
/// places instead of everywhere.
const PLACES: usize = 1_024;

/// Checks one case, cut off at each place by stop and by length.
pub(super) fn check(recording: &Recording, mut random: SplitMix64, tally: &mut Tally) {
    let length = recording.tape.len();
    let mut shapes = ValidShapes::new(recording.subject.turn_check());
    let places: Vec<usize> = if length <= PLACES {
        (0..=length).collect()
    } else {
        (0..PLACES).map(|_| random.below(length + 1)).collect()
    };
    for place in places {
        let tape = recording.tape.prefix(place);
        let cuts: Vec<usize> = recording.cuts.iter().copied().filter(|cut| *cut < place).collect();
        for reason in [FinishReason::Stop, FinishReason::Length] {
            let outcome = counted(recording, &tape, &cuts, Ending::Reason(reason), tally);
            let closed = well_formed(&outcome, &mut shapes);
            report(recording, &tape, &cuts, reason, closed, tally);
            if reason == FinishReason::Length {
                shows_a_prefix(recording, &tape, &cuts, &outcome, tally);
            }
        }
    }
}

fn report(
    recording: &Recording,
    tape: &Tape,
    cuts: &[usize],
    reason: FinishReason,
    closed: Result<(), String>,
    tally: &mut Tally,
) {
    tally.count(Property::Truncation);
    let Err(what) = closed else { return };
    if tally.has(Property::Truncation, &recording.name) {
        return;
    }
    let fails = |cuts: &[usize]| {
        let outcome = play(recording, tape, cuts, Ending::Reason(reason));
        well_formed(&outcome, &mut ValidShapes::new(recording.subject.turn_check())).is_err()
    };
    let cuts = shrink::smallest(cuts.to_vec(), fails);
    let case = recording.written(tape, &cuts, reason, &what);
    let what = format!("cut off after {} bytes: {what}", tape.text().len());
    tally.fail(Property::Truncation, &recording.name, what, Some(case));
}

/// Checks that a turn that was cut off ended without a fault, as items and as valid streams.
fn well_formed(outcome: &Outcome, shapes: &mut ValidShapes) -> Result<(), String> {
    if let Some(fault) = &outcome.fault {
        return Err(format!("the parser failed: {}", fault.in_full()));
    }
    if let Err(error) = &outcome.items {
        return Err(format!("its events make no items: {error}"));
    }
    if let TurnEnd::Failed(failure) = &outcome.end
        && failure.code != "model_error"
    {
        return Err(format!("it ends with {}: {}", failure.code, failure.message));
    }
    shapes.check(&outcome.events, &outcome.end)
}

/// Checks that each call's arguments before the end are a prefix of the expected ones, and that a
/// call that was cut off gets no more at the end than bytes of the stream.
fn shows_a_prefix(recording: &Recording, tape: &Tape, cuts: &[usize], outcome: &Outcome, tally: &mut Tally) {
    let expected: Vec<&str> = recording.expected.iter().filter_map(arguments).map(|(text, _)| text).collect();
    let items = outcome.items.as_deref().unwrap_or_default();
    let ended: Vec<_> = items.iter().filter_map(arguments).collect();
    for (index, shown) in outcome.shown.iter().enumerate() {
        tally.count(Property::ArgumentPrefix);
        let whole = expected.get(index).copied();
        let cut_off = ended.get(index).filter(|(_, status)| *status == CaseStatus::Incomplete);
        let leads_up = whole.is_some_and(|whole| whole.starts_with(shown.as_str()));
        let is_left_over = |(text, _): &&(&str, CaseStatus)| is_left_over(&text[shown.len()..], tape.text());
        if leads_up && cut_off.is_none_or(|ended| is_left_over(&ended)) {
            continue;
        }
        let shown = cut_off.map_or(shown.as_str(), |(text, _)| text);
        let what = format!(
            "cut off after {} bytes, call {index} shows {shown:?}, expected in the end: {}",
            tape.text().len(),
            whole.map_or_else(|| "no such call".to_owned(), |whole| format!("{whole:?}")),
        );
        let case = recording.written(tape, cuts, FinishReason::Length, &what);
        tally.fail(Property::ArgumentPrefix, &recording.name, what, Some(case));
    }
}

fn arguments(item: &CaseItem) -> Option<(&str, CaseStatus)> {
    match item {
        CaseItem::ToolCall { arguments, status, .. } => Some((arguments, *status)),
        _ => None,
    }
}

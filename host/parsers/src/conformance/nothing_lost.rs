//! Nothing lost: a case whose turn is completed is changed so that a parser may be led to drop text,
//! and nothing of it is lost in a turn that is completed all the same
//! ([`parser_kit::nothing_lost`]).

use parser_kit::Item;
use parser_kit::case::{CaseEnd, MarkerMode, Piece};
use parser_kit::nothing_lost::{Changed, CompletedTurn, as_text};

use super::compare::counted;
use super::play::{Ending, Outcome, play};
use super::recording::Recording;
use super::report::{Property, Tally};
use super::tape::Tape;

/// Number of seeds that choose places inside values, from the run's seed on.
const SEEDS: u64 = 3;

/// Checks all changes of one case.
pub(super) fn check(recording: &Recording, seed: u64, tally: &mut Tally) {
    for seed in seed..seed + SEEDS {
        check_some(recording, seed, usize::MAX, tally);
    }
}

/// Checks at most `most` of the case's changes, evenly spread, with markers as tokens and by text.
pub(super) fn check_some(recording: &Recording, seed: u64, most: usize, tally: &mut Tally) {
    let tokens = recording.by_tokens().with_broken_tool();
    let output = tokens.tape.case_pieces(0..tokens.tape.len());
    check_changes(&tokens, &output, seed, most, tally);
    if let Some(text) = tokens.by_text() {
        check_changes(&text, &output, seed, most, tally);
    }
}

/// Checks changes of a case, whose `output` with markers as tokens is given.
fn check_changes(recording: &Recording, output: &[Piece], seed: u64, most: usize, tally: &mut Tally) {
    let mode = recording.tape.mode();
    let whole = play(recording, &recording.tape, &[], Ending::Reason(recording.finish));
    if whole.end() != CaseEnd::Completed {
        return;
    }
    let descriptor = recording.subject.descriptor();
    let changes = CompletedTurn {
        markers: &descriptor.markers,
        stops: &descriptor.stops,
        reasoning_end: descriptor.reasoning_end.as_deref(),
        tools: &recording.request.tools,
        output,
        items: &items(whole),
    }
    .changes(seed);
    for Changed { what, output, must } in changes.iter().step_by(changes.len().div_ceil(most).max(1)) {
        let output = if mode == MarkerMode::Id { output.clone() } else { as_text(output) };
        let tape = Tape::new(&output, mode).compared_with(&descriptor.markers);
        for cuts in [Vec::new(), tape.every(1)].map(|cuts| tape.avoid_mixed_groups(cuts)) {
            tally.count(Property::NothingLost);
            let outcome = counted(recording, &tape, &cuts, Ending::Reason(recording.finish), tally);
            let end = outcome.end();
            if let Err(lost) = must.check(&items(outcome), end) {
                let mut case = recording.written(&tape, &cuts, recording.finish, what);
                if let Some(case) = case.as_object_mut() {
                    case.remove("expect");
                }
                let what = format!("{what}, markers {mode:?}: {lost}\n    of {:?}", tape.text());
                return tally.fail(Property::NothingLost, &recording.name, what, Some(case));
            }
        }
    }
}

fn items(outcome: Outcome) -> Vec<Item> {
    outcome.items.unwrap_or_default().into_iter().map(Item::from).collect()
}

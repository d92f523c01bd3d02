//! Split invariance: the same stream gives the same items and the same end, however it is cut,
//! grouped into steps, or tokenised.

use parser_kit::case::MarkerMode;
use seeded::SplitMix64;

use super::compare::{counted, difference};
use super::play::{Ending, Outcome, play};
use super::recording::Recording;
use super::report::{Property, Tally};
use super::shrink;
use super::tape::Tape;
use contract::FinishReason;

/// Most atoms of a short stream, which is cut in two at every place.
const SHORT: usize = 1_024;
/// Number of random places at which a longer stream is cut in two.
const PLACES: usize = 256;
/// Number of random chunkings of a short stream.
const RANDOM: usize = 12;
/// Number of random chunkings of a longer stream.
const RANDOM_OF_LONG: usize = 64;

/// Checks the chunkings of one case, with markers by text and as tokens. The first one that fails
/// is shrunk and reported.
pub(super) fn check(recording: &Recording, as_cut: &Outcome, mut random: SplitMix64, tally: &mut Tally) {
    let markers = &recording.subject.descriptor().markers;
    for mode in [MarkerMode::Text, MarkerMode::Id] {
        let Some(tape) = recording.tape.in_mode(mode, markers) else { continue };
        for cuts in chunkings(&tape, &mut random) {
            if !agrees(recording, as_cut, &tape, &cuts, Ending::Reason(recording.finish), tally) {
                return;
            }
        }
        if ends_with_a_stop(recording, &tape) {
            let cuts = tape.avoid_mixed_groups(vec![tape.len() - 1]);
            let cuts = if tape.len() == 1 { Vec::new() } else { cuts };
            if !agrees(recording, as_cut, &tape, &cuts, Ending::LastToken, tally) {
                return;
            }
        }
    }
}

/// The chunkings to check, as lists of cuts.
fn chunkings(tape: &Tape, random: &mut SplitMix64) -> Vec<Vec<usize>> {
    let length = tape.len();
    let mut all = vec![Vec::new(), tape.every(1), tape.every(3), tape.every(7)];
    if length <= SHORT {
        all.extend((1..length).map(|place| vec![place]));
    } else {
        all.extend((0..PLACES).map(|_| vec![1 + random.below(length - 1)]));
    }
    if length > 1 {
        let count = if length <= SHORT { RANDOM } else { RANDOM_OF_LONG };
        all.extend((0..count).map(|_| random_cuts(length, random)));
    }
    all.into_iter().map(|cuts| tape.avoid_mixed_groups(cuts)).collect()
}

/// Steps of random sizes up to a random maximum: several characters and markers in one step, as
/// with speculative decoding.
fn random_cuts(length: usize, random: &mut SplitMix64) -> Vec<usize> {
    let largest = 1 + random.below(24);
    let mut at = 0;
    let mut cuts = Vec::new();
    loop {
        at += 1 + random.below(largest);
        if at >= length {
            return cuts;
        }
        cuts.push(at);
    }
}

/// Whether the last atom is a stop, which an engine may pass as the token that ended the turn.
fn ends_with_a_stop(recording: &Recording, tape: &Tape) -> bool {
    let stops = &recording.subject.descriptor().stops;
    let last = tape.last_marker();
    recording.finish == FinishReason::Stop && last.is_some_and(|marker| stops.contains(&marker))
}

fn agrees(
    recording: &Recording,
    as_cut: &Outcome,
    tape: &Tape,
    cuts: &[usize],
    ending: Ending,
    tally: &mut Tally,
) -> bool {
    tally.count(Property::Splits);
    let outcome = counted(recording, tape, cuts, ending, tally);
    if outcome.says_the_same(as_cut) {
        return true;
    }
    let found =
        smallest(recording, as_cut, tape, Failing { cuts: cuts.to_vec(), outcome, recurs: true }, ending);
    let case = recording.written(tape, &found.cuts, recording.finish, "The items depend on the chunking.");
    let what = describe(&found, as_cut, tape.mode(), ending);
    tally.fail(Property::Splits, &recording.name, what, Some(case));
    false
}

/// A chunking whose outcome differs from that of the case's own chunks.
struct Failing {
    cuts: Vec<usize>,
    outcome: Outcome,
    /// Whether the outcome differed again when the chunking was played again.
    recurs: bool,
}

/// Returns the smallest chunking found that fails, or `first` with its outcome if a second play
/// doesn't fail.
fn smallest(recording: &Recording, as_cut: &Outcome, tape: &Tape, first: Failing, ending: Ending) -> Failing {
    let fails = |cuts: &[usize]| !play(recording, tape, cuts, ending).says_the_same(as_cut);
    let cuts = match ending {
        Ending::Reason(_) => {
            shrink::smallest(first.cuts.clone(), |cuts| fails(&tape.avoid_mixed_groups(cuts.to_vec())))
        }
        Ending::LastToken => first.cuts.clone(),
    };
    let cuts = tape.avoid_mixed_groups(cuts);
    let outcome = play(recording, tape, &cuts, ending);
    if outcome.says_the_same(as_cut) {
        Failing { recurs: false, ..first }
    } else {
        Failing { cuts, outcome, recurs: true }
    }
}

fn describe(found: &Failing, as_cut: &Outcome, mode: MarkerMode, ending: Ending) -> String {
    let how = match (mode, ending) {
        (_, Ending::LastToken) => "with the stop as the token that ended the turn",
        (MarkerMode::Text, _) => "with markers by their text",
        (MarkerMode::Id, _) => "with markers as tokens",
    };
    let expected = as_cut.items.as_deref().unwrap_or_default();
    let mut what = match (&found.outcome.fault, &as_cut.fault) {
        (None, Some(fault)) => format!("as it is cut the parser failed: {}", fault.in_full()),
        _ => difference(&found.outcome, expected)
            .unwrap_or_else(|| format!("it ends {:?}, as it is cut {:?}", found.outcome.end(), as_cut.end())),
    };
    if !found.recurs {
        what += "\n  played again it comes to what it comes to as it is cut: something varies between runs";
    }
    format!("{how}, in this chunking, it doesn't come to what it comes to as it is cut\n  {what}")
}

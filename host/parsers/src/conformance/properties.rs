//! Checks all properties of one case.

use seeded::{SplitMix64, fnv1a};

use super::compare::{counted, difference, json};
use super::lost_quote;
use super::nothing_lost;
use super::play::{Ending, Outcome};
use super::recording::Recording;
use super::report::{Property, Tally};
use super::silence;
use super::splits;
use super::stretch::{self, Stretch};
use super::truncation;

/// Checks all properties but cost growth on one case, and returns its stretches, which
/// [`super::growth`] may need.
pub(super) fn check(recording: &Recording, seed: u64, tally: &mut Tally) -> Vec<Stretch> {
    let as_cut =
        counted(recording, &recording.tape, &recording.cuts, Ending::Reason(recording.finish), tally);
    items(recording, &as_cut, tally);
    // What is drawn depends on the seed and the case's name alone, so that a failure can be
    // reproduced.
    let random = SplitMix64::new(seed ^ fnv1a(&recording.name));
    splits::check(recording, &as_cut, random.clone(), tally);
    truncation::check(recording, random, tally);
    lost_quote::check(recording, tally);
    nothing_lost::check(recording, seed, tally);
    silence::check(recording, tally);
    let stretches = stretch::of(recording);
    for stretch in &stretches {
        silence::check_stretched(recording, stretch, tally);
    }
    stretches
}

/// Checks that the case in its own chunks gives the expected items and end.
fn items(recording: &Recording, outcome: &Outcome, tally: &mut Tally) {
    tally.count(Property::Items);
    if recording.says_nothing {
        let expect = json(&serde_json::json!({ "items": recording.expected, "end": outcome.end() }));
        let what =
            format!("the case has no `expect`; if what it comes to is right, write:\n  \"expect\": {expect}");
        tally.fail(Property::Items, &recording.name, what, None);
    }
    if let Some(what) = difference(outcome, &recording.expected) {
        return tally.fail(Property::Items, &recording.name, what, None);
    }
    let end = outcome.end();
    if recording.end.is_some_and(|expected| expected != end) {
        let what = format!("the response ends {}, expected {}", json(&end), json(&recording.end));
        tally.fail(Property::Items, &recording.name, what, None);
    }
}

//! Lost quotes: a marker behind a call, as a token of its own, breaks the call off inside a string
//! of its JSON.

use parser_kit::case::{CaseItem, MarkerMode};
use parser_kit::{LostQuote, lost_quotes};

use super::compare::{counted, difference, json};
use super::play::{Ending, play};
use super::recording::Recording;
use super::report::{Property, Tally};
use super::tape::Tape;

/// Checks one case with its markers as tokens, and the rest of each call's JSON left out from
/// places inside strings on.
pub(super) fn check(recording: &Recording, tally: &mut Tally) {
    let recording = &recording.by_tokens();
    let tape = &recording.tape;
    let whole = play(recording, tape, &[], Ending::Reason(recording.finish));
    let items: Vec<_> = whole.items.unwrap_or_default().into_iter().map(Into::into).collect();
    for LostQuote { output, expected } in lost_quotes(&tape.case_pieces(0..tape.len()), &items) {
        let tape = Tape::new(&output, MarkerMode::Id).compared_with(recording.markers());
        let expected: Vec<CaseItem> = expected.into_iter().map(CaseItem::from).collect();
        for cuts in [Vec::new(), tape.every(1)].map(|cuts| tape.avoid_mixed_groups(cuts)) {
            tally.count(Property::LostQuote);
            let outcome = counted(recording, &tape, &cuts, Ending::Reason(recording.finish), tally);
            if let Some(what) = difference(&outcome, &expected) {
                let mut case = recording.written(&tape, &cuts, recording.finish, "A call that lost a quote.");
                case["expect"] = serde_json::json!({ "items": expected });
                let what = format!("broken off inside a string: {}\n  {what}", json(&tape.text()));
                return tally.fail(Property::LostQuote, &recording.name, what, Some(case));
            }
        }
    }
}

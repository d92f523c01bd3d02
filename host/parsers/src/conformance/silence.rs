//! Silence: while the model writes text or string arguments, at most sixteen deltas in a row pass
//! without output.
//!
//! It is measured in two ways, always in deltas of four characters with markers as tokens. In the
//! cases as they are: how long each byte of a message or of reasoning waits. In cases with one of
//! their strings stretched to 4,096 deltas: the longest run of deltas inside it without output;
//! this covers arguments. Two waits are reported separately, since there can be no output
//! meanwhile: that of arguments before their tool's name, and that of text that began as a call and
//! became none. A case with a call inside reasoning is exempt: the host itself holds the call until
//! the reasoning ends.
//!
//! The same plays keep the second account of the bytes (conservation) and record the highest use of
//! each limit (limits).

use parser_kit::case::MarkerMode;

use super::compare::{difference, shortened};
use super::ledger::Ledger;
use super::limits;
use super::play::{Outcome, Session};
use super::recording::Recording;
use super::report::{Property, Tally};
use super::stretch::{Stretch, StretchKind};
use super::tape::Tape;
use super::thresholds::{DELTA_CHARACTERS, MAX_SILENT_DELTAS};
use crate::trace::CallLog;
use contract::{FinishReason, ResourceUsage};
use turn::{TurnEvent, TurnEvents};

/// Number of deltas to which a string is stretched.
const STRETCHED: usize = 4_096;

/// Checks one case as it is: in deltas, and with the whole stream in one step.
pub(super) fn check(recording: &Recording, tally: &mut Tally) {
    let markers = &recording.subject.descriptor().markers;
    let tape = recording.tape.in_mode(MarkerMode::Id, markers).expect("text may be read by tokens");
    let at_once = tape.avoid_mixed_groups(Vec::new());
    play_recorded(recording, &tape, &at_once, tally, |_, _, _| {});
    let deltas = tape.every(DELTA_CHARACTERS);
    let (ledger, _) = play_recorded(recording, &tape, &deltas, tally, |_, _, _| {});
    tally.count(Property::Silence);
    tally.silence.waits.merge(&ledger.waits);
    if ledger.waits.text > MAX_SILENT_DELTAS {
        let what = format!("text waits for {} deltas, {MAX_SILENT_DELTAS} are allowed", ledger.waits.text);
        let case = recording.written(&tape, &deltas, recording.finish, &what);
        tally.fail(Property::Silence, &recording.name, what, Some(case));
    }
}

/// Checks a case with one of its strings stretched.
pub(super) fn check_stretched(recording: &Recording, stretch: &Stretch, tally: &mut Tally) {
    if stretch.kind == StretchKind::Turn {
        return;
    }
    let (tape, region, times) = stretch.long(STRETCHED);
    let cuts = tape.every(DELTA_CHARACTERS);
    let mut run = Run::default();
    let (_, outcome) = play_recorded(recording, &tape, &cuts, tally, |atoms, events, _| {
        run.delta(atoms.start >= region.start && atoms.end <= region.end, events);
    });
    tally.count(Property::Silence);
    if let Some(what) = difference(&outcome, &stretch.expected(times)) {
        let what = format!("with {} {STRETCHED} deltas long\n  {}", stretch.name(), shortened(&what));
        return tally.fail(Property::Silence, &recording.name, what, None);
    }
    if outcome.held_draft {
        return;
    }
    let early = stretch.kind == StretchKind::Argument && run.before_any_call;
    let longest = match stretch.kind {
        StretchKind::Argument if early => &mut tally.silence.waits.before_name,
        StretchKind::Argument => &mut tally.silence.arguments,
        _ => &mut tally.silence.text,
    };
    *longest = run.longest.max(*longest);
    if run.longest > MAX_SILENT_DELTAS && !early {
        let what = format!("nothing comes out for {} deltas inside {}", run.longest, stretch.name());
        tally.fail(Property::Silence, &recording.name, what, None);
    }
}

/// Counter of deltas without output inside a region.
#[derive(Debug, Default)]
struct Run {
    now: usize,
    longest: usize,
    inside: bool,
    open: bool,
    /// Whether no item was open when the region began.
    before_any_call: bool,
}

impl Run {
    fn delta(&mut self, inside: bool, events: &[TurnEvent]) {
        if inside {
            if !self.inside {
                self.before_any_call = !self.open;
            }
            let silent = !events.iter().any(|event| matches!(event, TurnEvent::Text(_)));
            self.now = if silent { self.now + 1 } else { 0 };
            self.longest = self.longest.max(self.now);
        }
        self.inside = inside;
        for event in events {
            match event {
                TurnEvent::Open(_) => self.open = true,
                TurnEvent::Close(_) => self.open = false,
                _ => {}
            }
        }
    }
}

/// Plays a tape and records its calls. `on_step` gets the atoms of each step, its events, and the
/// parser's use of resources so far. Conservation and limits are checked, too.
pub(super) fn play_recorded(
    recording: &Recording,
    tape: &Tape,
    cuts: &[usize],
    tally: &mut Tally,
    mut on_step: impl FnMut(std::ops::Range<usize>, &[TurnEvent], Option<ResourceUsage>),
) -> (Ledger, Outcome) {
    let Recording { subject, request, .. } = recording;
    let markers = &subject.descriptor().markers;
    let prompt = recording.prompt.in_mode(MarkerMode::Id, markers).expect("text may be read by tokens");
    let stops = &subject.descriptor().stops;
    let string_ends = [stops, &request.token_markers[..]].concat();
    let (log, mut ledger) = (CallLog::default(), Ledger::new(string_ends));
    let (mut events, mut all) = (TurnEvents::default(), TurnEvents::default());
    let mut session = Session::start(subject, request, &prompt, tape, Some(&log), &mut events);
    let mut healthy = ledger.step(&prompt.pieces(0..prompt.len()), log.take());
    for atoms in tape.groups(cuts) {
        all.extend(events.drain());
        if session.is_over() {
            break;
        }
        let pieces = tape.pieces(atoms.clone());
        session.step(&pieces, &mut events);
        on_step(atoms, &events, log.usage());
        healthy = healthy && ledger.step(until_stop(&pieces, stops), log.take());
    }
    all.extend(events.drain());
    ledger.peak.memory = log.usage().map_or(0, |usage| usage.memory);
    let outcome = session.finish(recording.finish, None, all);
    ledger.finish(log.take());
    tally.bytes += outcome.fed;
    compare_accounts(recording, tape, cuts, &ledger, healthy, &outcome, tally);
    (ledger, outcome)
}

/// The pieces up to the first stop and including it; the rest is no part of the turn.
fn until_stop<'a, 'b>(pieces: &'a [turn::TokenText<'b>], stops: &[u32]) -> &'a [turn::TokenText<'b>] {
    let is_stop = |piece: &turn::TokenText<'_>| piece.id.is_some_and(|id| stops.contains(&id));
    let end = pieces.iter().position(is_stop).map_or(pieces.len(), |at| at + 1);
    &pieces[..end]
}

/// Checks that both accounts agree, and that no limit was exceeded.
fn compare_accounts(
    recording: &Recording,
    tape: &Tape,
    cuts: &[usize],
    ledger: &Ledger,
    healthy: bool,
    outcome: &Outcome,
    tally: &mut Tally,
) {
    tally.count(Property::Conservation);
    tally.count(Property::Limits);
    let (routed, dropped) = (ledger.routed, ledger.dropped);
    let turns = (outcome.bytes.routed, outcome.bytes.dropped);
    let differ = healthy && outcome.fault.is_none() && turns != (routed, dropped);
    let differ = differ.then(|| {
        format!("by its answers {routed} bytes were routed and {dropped} dropped, the turn says {turns:?}")
    });
    let case = |why: &str| Some(recording.written(tape, cuts, FinishReason::Stop, why));
    if let Some(what) = ledger.violation.clone().or(differ) {
        let case = case(&what);
        tally.fail(Property::Conservation, &recording.name, what, case);
    }
    tally.peak.merge(&ledger.peak);
    if let Some(what) = limits::passed(&ledger.peak, recording.subject.limits()) {
        let case = case(&what);
        tally.fail(Property::Limits, &recording.name, what, case);
    }
}

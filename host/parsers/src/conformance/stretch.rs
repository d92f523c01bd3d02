//! Stretched cases: one string of a case is repeated in the raw stream, or the whole turn is. The
//! expected items are known, since the same part repeats in them.
//!
//! A stretch is used only if a short variant of it gives the expected items, since a format may not
//! allow the repetition.

use std::ops::Range;

use parser_kit::case::{CaseItem, CasePayload, CaseStatus, MarkerMode, Piece};
use serde_json::Value;

use super::compare::difference;
use super::play::{Ending, play};
use super::recording::Recording;
use super::tape::Tape;
use super::thresholds::DELTA_CHARACTERS;
use contract::Types;

/// Fewest characters of a string that is repeated.
const SHORTEST: usize = 8;
/// Most stretches of one case.
const MOST: usize = 6;

/// Part of a case that is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum StretchKind {
    Reasoning,
    Message,
    /// A string argument.
    Argument,
    /// The whole turn, calls and all.
    Turn,
}

/// A case that can be stretched to any length.
pub(super) struct Stretch {
    pub(super) kind: StretchKind,
    before: Vec<Piece>,
    unit: Vec<Piece>,
    after: Vec<Piece>,
    items: Vec<CaseItem>,
    /// Index of the item whose text repeats, and the string in it; `None` where all items repeat.
    string: Option<(usize, String)>,
}

/// Returns the stretches of a case.
pub(super) fn of(recording: &Recording) -> Vec<Stretch> {
    let mut found = Vec::new();
    for candidate in strings(recording).chain(turns(recording)) {
        if found.len() < MOST && holds(recording, &candidate) {
            found.push(candidate);
        }
    }
    found
}

/// Whether a short variant gives the expected items.
fn holds(recording: &Recording, stretch: &Stretch) -> bool {
    let tape = stretch.tape(3);
    let ending = Ending::Reason(recording.finish);
    difference(&play(recording, &tape, &tape.every(DELTA_CHARACTERS), ending), &stretch.expected(3)).is_none()
}

/// Candidates that repeat a string of an item.
fn strings(recording: &Recording) -> impl Iterator<Item = Stretch> {
    let markers = &recording.subject.descriptor().markers;
    let tape = recording.tape.in_mode(MarkerMode::Id, markers).expect("text may be read by tokens");
    let stream = tape.case_pieces(0..tape.len());
    let whole = recording.expected.iter().enumerate();
    whole.flat_map(move |(index, item)| {
        let (kind, strings) = repeatable(recording, item);
        let found = strings.into_iter().find_map(|string| {
            let (before, after) = around(&stream, &string)?;
            Some(Stretch {
                kind,
                before,
                unit: vec![Piece::Text(string.clone())],
                after,
                items: recording.expected.clone(),
                string: Some((index, string)),
            })
        });
        found.into_iter().collect::<Vec<_>>()
    })
}

/// Strings of an item that may be repeated, best first.
fn repeatable(recording: &Recording, item: &CaseItem) -> (StretchKind, Vec<String>) {
    let lines = |text: &str| {
        let lines = text.lines().map(str::to_owned);
        [text.to_owned()].into_iter().chain(lines).collect::<Vec<_>>()
    };
    let (kind, text, strings) = match item {
        CaseItem::Reasoning { text, .. } => (StretchKind::Reasoning, text, lines(text)),
        CaseItem::Message { text, .. } => (StretchKind::Message, text, lines(text)),
        CaseItem::ToolCall { arguments, payload: CasePayload::Text, .. } => {
            (StretchKind::Argument, arguments, lines(arguments))
        }
        CaseItem::ToolCall { name, arguments, .. } => {
            (StretchKind::Argument, arguments, string_arguments(recording, name, arguments))
        }
    };
    let long = |string: &String| string.chars().count() >= SHORTEST;
    let once = |string: &String| text.matches(string.as_str()).count() == 1;
    (kind, strings.into_iter().filter(long).filter(once).collect())
}

/// Arguments that are strings whatever they contain. A value that might be a number is left out,
/// since a parser may hold it to its end.
fn string_arguments(recording: &Recording, name: &str, arguments: &str) -> Vec<String> {
    let tool = recording.request.tools.iter().find(|tool| tool.name == name);
    let parameters = tool.map_or(&[][..], |tool| &tool.parameters);
    let types =
        |key: &str| parameters.iter().find(|parameter| parameter.name == key).map(|found| found.types);
    let is_string = |key: &str| types(key).is_none_or(|types| types == Types::STRING);
    match serde_json::from_str(arguments) {
        Ok(Value::Object(map)) => map
            .into_iter()
            .filter(|(key, _)| is_string(key))
            .filter_map(|(_, value)| value.as_str().map(str::to_owned))
            .collect(),
        _ => Vec::new(),
    }
}

/// Splits the stream behind `string`; `None` unless the string occurs exactly once.
fn around(stream: &[Piece], string: &str) -> Option<(Vec<Piece>, Vec<Piece>)> {
    let text = |piece: &Piece| match piece {
        Piece::Text(text) => Some(text.clone()),
        Piece::Marker(..) => None,
    };
    let places = |piece: &Piece| text(piece).map_or(0, |text| text.matches(string).count());
    if stream.iter().map(places).sum::<usize>() != 1 {
        return None;
    }
    let at = stream.iter().position(|piece| places(piece) == 1)?;
    let text = text(&stream[at])?;
    let end = text.find(string)? + string.len();
    let before = stream[..at].iter().cloned().chain([Piece::Text(text[..end].to_owned())]);
    let after = [Piece::Text(text[end..].to_owned())].into_iter().chain(stream[at + 1..].iter().cloned());
    Some((before.collect(), after.collect()))
}

/// Candidates that repeat the turn: as it is, and with the generation prompt in between.
fn turns(recording: &Recording) -> impl Iterator<Item = Stretch> {
    let markers = &recording.subject.descriptor().markers;
    let stops = &recording.subject.descriptor().stops;
    let tape = recording.tape.in_mode(MarkerMode::Id, markers).expect("text may be read by tokens");
    let prompt = recording.prompt.in_mode(MarkerMode::Id, markers).expect("text may be read by tokens");
    let mut unit = tape.case_pieces(0..tape.len());
    let is_stop = |piece: &Piece| matches!(piece, Piece::Marker(index, _) if stops.contains(index));
    let after: Vec<Piece> = unit.pop_if(|piece| is_stop(piece)).into_iter().collect();
    let is_call = |item: &CaseItem| matches!(item, CaseItem::ToolCall { status: CaseStatus::Completed, .. });
    let calls = recording.expected.iter().any(is_call);
    let prompt = prompt.case_pieces(0..prompt.len());
    let again = [unit.clone(), [prompt, unit.clone()].concat()];
    again.into_iter().filter(move |_| calls).map(move |again| Stretch {
        kind: StretchKind::Turn,
        before: unit.clone(),
        unit: again,
        after: after.clone(),
        items: recording.expected.clone(),
        string: None,
    })
}

impl Stretch {
    /// The repeated part, in words.
    pub(super) fn name(&self) -> &'static str {
        match self.kind {
            StretchKind::Reasoning => "reasoning",
            StretchKind::Message => "a message",
            StretchKind::Argument => "a string argument",
            StretchKind::Turn => "a turn with calls",
        }
    }

    /// Returns a stream whose repeated part has at least `deltas` deltas, the range of that part in
    /// atoms, and the number of repetitions.
    pub(super) fn long(&self, deltas: usize) -> (Tape, Range<usize>, usize) {
        let once = Tape::new(&self.unit, MarkerMode::Id);
        let per_unit = once.every(DELTA_CHARACTERS).len() + 1;
        let times = if self.string.is_some() {
            // A delta may span two repetitions, and the first and the last delta may lie partly
            // outside the region.
            ((deltas + 2) * DELTA_CHARACTERS).div_ceil(once.len())
        } else {
            deltas.div_ceil(per_unit) + 1
        };
        let start = Tape::new(&self.before, MarkerMode::Id).len();
        (self.tape(times), start..start + times * once.len(), times)
    }

    /// The stream with `times` repetitions of its part.
    fn tape(&self, times: usize) -> Tape {
        let repeated = std::iter::repeat_n(&self.unit, times).flatten();
        Tape::new(self.before.iter().chain(repeated).chain(&self.after), MarkerMode::Id)
    }

    /// Items expected of that stream.
    pub(super) fn expected(&self, times: usize) -> Vec<CaseItem> {
        let Some((index, string)) = &self.string else {
            return vec![self.items.clone(); times + 1].concat();
        };
        let mut items = self.items.clone();
        match &mut items[*index] {
            CaseItem::Reasoning { text, .. }
            | CaseItem::Message { text, .. }
            | CaseItem::ToolCall { arguments: text, .. } => {
                *text = text.replacen(string, &string.repeat(times + 1), 1);
            }
        }
        items
    }
}

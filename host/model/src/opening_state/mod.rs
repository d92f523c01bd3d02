//! State of a turn behind its generation prompt, found by experiments: samples are played to fresh
//! instances of the parser, and their items show the state. So this module knows no format by name.

use super::parsers::{ParserBinding, ParserRequest};
use contract::FinishReason;
use turn::{CallIds, FaultPolicy, FoldedItem, ItemHead, TokenText, TurnEnd, TurnEvents, fold};

/// Short JSON answers: an object, which is usual, and a value that looks like a word in a header.
const JSON: [&str; 2] = ["{}", "true"];
/// Short text for reasoning.
const THOUGHT: &str = "x";

#[cfg(test)]
pub(super) mod tests;

/// State of a turn behind its generation prompt: the kind of item that text would go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpeningState {
    /// Text would be a message from its first byte on.
    Message,
    /// Text would be reasoning, which the marker of this index ends; `None` if no single marker
    /// ends it.
    Reasoning(Option<usize>),
    /// Text would be neither, for example part of a header.
    Elsewhere,
}

/// Pieces of a turn that its prompt has written: texts, with the ids of markers.
pub(super) type OpeningPieces = [(Option<u32>, String)];

/// Player of samples behind an opening.
pub(super) struct OpeningProbe<'a> {
    pub(super) parser: &'a ParserBinding,
    pub(super) request: &'a ParserRequest,
    pub(super) opening: &'a OpeningPieces,
}

/// Result of a sample.
#[derive(Debug, PartialEq, Eq)]
struct SampleResult {
    items: Vec<FoldedItem>,
    /// Whether the parser had routed each byte before the turn ended.
    settled: bool,
}

impl OpeningProbe<'_> {
    /// Finds the state of the turn.
    pub(super) fn state(&self) -> OpeningState {
        if JSON.iter().all(|json| self.is_answer(&[], json)) {
            return OpeningState::Message;
        }
        let thought = self.play(self.opening, &[TokenText::new(None, THOUGHT)]);
        match thought.as_ref().map(|played| &*played.items) {
            Some([FoldedItem { head: ItemHead::Reasoning, .. }]) => {
                OpeningState::Reasoning(self.end_of_reasoning())
            }
            _ => OpeningState::Elsewhere,
        }
    }

    /// Whether the parser reads all samples as it would without the opening. Then the opening
    /// leaves no part of the turn open, and a grammar of a whole turn also describes the generated
    /// text.
    pub(super) fn is_at_beginning(&self) -> bool {
        let is_alike = |sample: &[TokenText<'_>]| {
            let played = self.play(self.opening, sample);
            played.is_some() && played == self.play(&[], sample)
        };
        let json = TokenText::new(None, JSON[0]);
        is_alike(&[json]) && self.markers().all(|marker| is_alike(&[marker, json]))
    }

    fn end_of_reasoning(&self) -> Option<usize> {
        let thought = TokenText::new(None, THOUGHT);
        self.markers().position(|marker| JSON.iter().all(|json| self.is_answer(&[thought, marker], json)))
    }

    /// Whether `json` becomes a message at once, and the text before it, if there is any, becomes
    /// reasoning.
    fn is_answer(&self, before: &[TokenText<'_>], json: &str) -> bool {
        let sample: Vec<_> = before.iter().copied().chain([TokenText::new(None, json)]).collect();
        let Some(SampleResult { items, settled: true }) = self.play(self.opening, &sample) else {
            return false;
        };
        let Some((answer, thoughts)) = items.split_last() else { return false };
        let is_thought = |item: &FoldedItem| item.head == ItemHead::Reasoning && item.text == THOUGHT;
        matches!(answer.head, ItemHead::Message { .. })
            && answer.text == json
            && thoughts.len() == usize::from(!before.is_empty())
            && thoughts.iter().all(is_thought)
    }

    fn markers(&self) -> impl Iterator<Item = TokenText<'_>> {
        self.parser.markers().map(|(literal, id)| TokenText::new(id, literal))
    }

    /// Plays `sample` behind `opening` and returns the items; `None` if the parser fails.
    fn play(&self, opening: &OpeningPieces, sample: &[TokenText<'_>]) -> Option<SampleResult> {
        let held = usize::MAX;
        // All call ids are empty, so that equal turns have equal items.
        let call_ids = CallIds::new(|_| String::new());
        let start = self.parser.start(self.request, opening.to_vec(), FaultPolicy::Fail, held, call_ids);
        let mut events = TurnEvents::default();
        let (mut turn, _) = start.open(&mut events);
        let _ = turn.step(sample, &mut events);
        let bytes = turn.bytes();
        let settled = bytes.taken == bytes.routed + bytes.dropped + bytes.aside;
        let end = turn.finish(FinishReason::Stop, None, &mut events);
        let has_failed = matches!(end, TurnEnd::Failed(_)) && turn.fault().is_some();
        (!has_failed).then_some(SampleResult { items: fold(events.drain()).ok()?, settled })
    }
}

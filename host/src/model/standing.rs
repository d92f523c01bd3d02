//! Where a turn stands behind its generation prompt, found out by asking its parser: samples are played to it, each to a fresh one,
//! and the items that come out tell. So no format is known here by name.

use super::job::Job;
use super::parsers::ParserBinding;
use crate::parser::contract::FinishReason;
use crate::turn::{FaultPolicy, Item, ItemHead, TokenText, TurnEnd, TurnEvents, fold};

/// Short answers under a schema: JSON as it mostly is, and a value that is told from a header's word by nothing.
const JSON: [&str; 2] = ["{}", "true"];
/// Reasoning, as short.
const THOUGHT: &str = "x";

#[cfg(test)]
pub(super) mod tests;

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Text would be a message from its first byte on.
    Message,
    /// Text would be reasoning, which the marker of this index ends; none where no single marker does.
    Reasoning(Option<usize>),
    /// Text would be neither: in a header, say.
    Elsewhere,
}

/// Opening pieces of a turn: ids and texts.
pub(super) type OpeningPieces = [(Option<u32>, String)];

/// Plays samples behind an opening.
pub(super) struct Samples<'a> {
    pub(super) parser: &'a ParserBinding,
    pub(super) job: &'a Job,
    pub(super) opening: &'a OpeningPieces,
}

/// What became of a sample.
#[derive(Debug, PartialEq, Eq)]
struct Played {
    items: Vec<Item>,
    /// The parser knew where each byte goes before the turn ended.
    settled: bool,
}

impl Samples<'_> {
    /// Where the turn stands.
    pub(super) fn standing(&self) -> Standing {
        if JSON.iter().all(|json| self.is_answer(&[], json)) {
            return Standing::Message;
        }
        let thought = self.play(self.opening, &[TokenText::new(None, THOUGHT)]);
        match thought.as_ref().map(|played| &*played.items) {
            Some([Item { head: ItemHead::Reasoning, .. }]) => Standing::Reasoning(self.end_of_reasoning()),
            _ => Standing::Elsewhere,
        }
    }

    /// Whether the parser reads whatever comes as it would without the opening: so nothing of it is left open, and what describes a turn from
    /// its beginning describes what is generated.
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

    /// Whether `json` comes out as a message at once, and what precedes it, if anything, as a thought.
    fn is_answer(&self, before: &[TokenText<'_>], json: &str) -> bool {
        let sample: Vec<_> = before.iter().copied().chain([TokenText::new(None, json)]).collect();
        let Some(Played { items, settled: true }) = self.play(self.opening, &sample) else { return false };
        let Some((answer, thoughts)) = items.split_last() else { return false };
        let is_thought = |item: &Item| item.head == ItemHead::Reasoning && item.text == THOUGHT;
        matches!(answer.head, ItemHead::Message { .. })
            && answer.text == json
            && thoughts.len() == usize::from(!before.is_empty())
            && thoughts.iter().all(is_thought)
    }

    fn markers(&self) -> impl Iterator<Item = TokenText<'_>> {
        self.parser.markers().map(|(literal, id)| TokenText::new(id, literal))
    }

    /// The items of a turn that is opened so and then is `sample`; none where the parser fails.
    fn play(&self, opening: &OpeningPieces, sample: &[TokenText<'_>]) -> Option<Played> {
        let held = usize::MAX;
        let mut start = self.parser.start(self.job, opening.to_vec(), FaultPolicy::Fail, held);
        // Equal turns are to have equal items.
        start.settings.call_ids = Box::new(String::new);
        let mut events = TurnEvents::default();
        let (mut turn, _) = start.open(&mut events);
        let _ = turn.step(sample, &mut events);
        let bytes = turn.bytes();
        let settled = bytes.taken == bytes.routed + bytes.dropped + bytes.aside;
        let end = turn.finish(FinishReason::Stop, None, &mut events);
        let has_failed = matches!(end, TurnEnd::Failed(_)) && turn.fault().is_some();
        (!has_failed).then_some(Played { items: fold(events.drain()).ok()?, settled })
    }
}

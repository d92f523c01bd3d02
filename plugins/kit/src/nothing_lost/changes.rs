//! The changes that are made to a recorded turn.

use seeded::SplitMix64;
use serde_json::Value;

use super::{BROKEN_TOOL, Changed, CompletedTurn, MarkedValue, Must, is_json, strings, text};
use crate::case::Piece;
use crate::{Head, Item};

/// A sentence that no format has as markup: by itself, and joined to the marker in front of it. The
/// word by which it is found.
const SENTENCE: &str = " Mind the quoll, it bites. ";
const JOINED: &str = "quoll bites are nasty. ";
const WORD: &str = "quoll";
/// Most random places of a value at which each marker is put.
const PLACES: usize = 2;

/// Whether a string's last part reads as what stands behind a value: no format whose strings end at
/// a marker can tell it from that.
fn is_rest_of_call(after: &str) -> bool {
    after.trim_start().starts_with([',', '}', ']', ')'])
}

impl CompletedTurn<'_> {
    /// The changed streams; the seed chooses places inside values.
    pub fn changes(&self, seed: u64) -> Vec<Changed> {
        let mut all = self.sentences();
        all.extend(self.values(&mut SplitMix64::new(seed)));
        all.extend(self.openers());
        all.extend(self.unclosed_reasoning());
        all.extend(self.white_space());
        all
    }

    /// Number of pieces before the marker that ends the turn.
    fn length(&self) -> usize {
        let is_stop = |piece: &Piece| matches!(piece, Piece::Marker(index, _) if self.stops.contains(index));
        self.output.iter().position(is_stop).unwrap_or(self.output.len())
    }

    /// The whole calls of declared tools, with their indices among the items.
    fn calls(&self) -> impl Iterator<Item = (usize, &Item)> {
        let is_declared = |name: &str| self.tools.iter().any(|tool| tool.name == name);
        let is_whole = move |item: &Item| match &item.head {
            Head::ToolCall(call) => item.complete && is_declared(&call.name),
            _ => false,
        };
        self.items.iter().enumerate().filter(move |(_, item)| is_whole(item))
    }

    /// The output with `more` before its piece `at`.
    fn with(&self, at: usize, more: &[Piece]) -> Vec<Piece> {
        [&self.output[..at], more, &self.output[at..]].concat()
    }

    /// A sentence at the turn's beginning, its end, and around each marker.
    fn sentences(&self) -> Vec<Changed> {
        let at = |at: usize| {
            let is_behind_marker = at == 0 || matches!(self.output[at - 1], Piece::Marker(..));
            // Joined to a name it would be part of the name.
            let joined = is_behind_marker.then_some(JOINED);
            [SENTENCE].into_iter().chain(joined).map(move |sentence| Changed {
                what: format!("{sentence:?} before {:?}", self.output.get(at).map_or("", text)),
                output: self.with(at, &[Piece::Text(sentence.to_owned())]),
                must: Must::Say(WORD),
            })
        };
        (0..=self.length()).flat_map(at).collect()
    }

    /// Each marker inside each string of a call that the output spells once.
    fn values(&self, random: &mut SplitMix64) -> Vec<Changed> {
        let mut all = Vec::new();
        for (index, item) in self.calls().filter(|(_, item)| is_json(item)) {
            let value: Value = serde_json::from_str(&item.text).unwrap_or_default();
            for string in strings(&value) {
                let Some(place) = self.only_place(string) else { continue };
                all.extend(self.marked(index, string, place, random));
            }
        }
        all
    }

    /// The one text that has `string` in it, once, and where.
    fn only_place(&self, string: &str) -> Option<(usize, usize)> {
        if string.chars().count() < 4 || !self.spells_once(string) {
            return None;
        }
        self.output.iter().enumerate().find_map(|(at, piece)| match piece {
            Piece::Text(text) => Some((at, text.find(string)?)),
            Piece::Marker(..) => None,
        })
    }

    fn spells_once(&self, part: &str) -> bool {
        let whole: String = self.output.iter().map(text).collect();
        whole.matches(part).count() == 1
    }

    /// Each marker inside this string of call `index`, which stands at this place.
    fn marked(
        &self,
        index: usize,
        string: &str,
        (piece, begin): (usize, usize),
        random: &mut SplitMix64,
    ) -> Vec<Changed> {
        let length = string.chars().count();
        let others: Vec<Item> =
            self.calls().filter(|(other, _)| *other != index).map(|(_, call)| call.clone()).collect();
        let mut all = Vec::new();
        let singles = self.markups().into_iter().map(|markup| (markup, PLACES));
        for (markup, random_places) in singles.chain(self.ends_behind(piece).map(|ends| (ends, 0))) {
            let places =
                [length / 2].into_iter().chain((0..random_places).map(|_| 2 + random.below(length - 3)));
            for place in places {
                let at = string.char_indices().nth(place).map_or(string.len(), |(at, _)| at);
                let (before, after) = string.split_at(at);
                if !self.spells_once(before) || is_rest_of_call(after) {
                    continue;
                }
                let halves = text(&self.output[piece]).split_at(begin + at);
                let [first, last] = [halves.0, halves.1].map(|half| [Piece::Text(half.to_owned())]);
                let parts = [&first[..], &markup, &last].concat();
                let output = [&self.output[..piece], &parts, &self.output[piece + 1..]].concat();
                let literal: String = markup.iter().map(text).collect();
                let what = format!("{literal:?} inside {string:?}");
                let [before, after] = [before, after].map(str::to_owned);
                let must = Must::Hold(MarkedValue { before, markup: literal, after, others: others.clone() });
                all.push(Changed { what, output, must });
            }
        }
        all
    }

    /// Each marker that doesn't end the turn.
    fn markups(&self) -> Vec<Vec<Piece>> {
        let markers = (0..).zip(self.markers).filter(|(marker, _)| !self.stops.contains(marker));
        markers.map(|(marker, literal)| vec![Piece::Marker(marker, literal.clone())]).collect()
    }

    /// What ends the call whose last value stands in this piece, and the block around the call: a
    /// tag whose opening stands before the value. What ends the turn isn't known everywhere, and
    /// may end a value.
    fn ends_behind(&self, piece: usize) -> Option<Vec<Piece>> {
        let is_white = |piece: &&Piece| text(piece).trim().is_empty();
        let behind = self.output[piece + 1..self.length()].iter().filter(|piece| !is_white(piece));
        let run: Vec<&Piece> = behind.take_while(|piece| matches!(piece, Piece::Marker(..))).collect();
        let opens = |marker: &Piece| {
            let opening = text(marker).trim().replacen("</", "<", 1);
            opening != text(marker).trim()
                && self.output[..piece].iter().any(|piece| text(piece).trim() == opening)
        };
        let pair = run.windows(2).skip(1).find(|pair| opens(pair[1]))?;
        Some(pair.iter().map(|marker| (*marker).clone()).collect())
    }

    /// A call that breaks off before the first marker behind its name, in front of each call.
    fn openers(&self) -> Vec<Changed> {
        let (mut all, mut from) = (Vec::new(), 1);
        // A marker inside a value may stand before the name of a later call.
        let is_plain = !self.calls().any(|(_, item)| self.has_markup(item));
        for (_, item) in self.calls().filter(|_| is_plain) {
            let Head::ToolCall(call) = &item.head else { continue };
            let name = call.name.as_str();
            let is_head = |at: &usize| match &self.output[at - 1..=*at] {
                // A marker on both sides of the name separates, and begins nothing.
                [marker @ Piece::Marker(..), _] if self.output.get(at + 1) == Some(marker) => false,
                // Behind brackets stands a header without its marker.
                [Piece::Marker(..), Piece::Text(text)] => {
                    text.find(name).is_some_and(|place| !text[..place].contains('}'))
                }
                _ => false,
            };
            let Some(at) = (from..self.length()).find(is_head) else { continue };
            from = at + 1;
            let head = Piece::Text(text(&self.output[at]).replacen(name, BROKEN_TOOL, 1));
            let broken = [self.output[at - 1].clone(), head, Piece::Text(SENTENCE.to_owned())];
            let before = |more: &[Piece], must| Changed {
                what: format!("a call that breaks off before that of {name:?}"),
                output: self.with(at - 1, more),
                must,
            };
            all.push(before(&broken[..2], Must::Call(item.clone())));
            all.push(before(&broken, Must::Call(item.clone())));
            all.push(before(&broken, Must::Say(WORD)));
        }
        all
    }

    /// Whether the text of an item spells a marker.
    fn has_markup(&self, item: &Item) -> bool {
        self.markers.iter().any(|marker| item.text.contains(marker.trim()))
    }

    /// The reasoning without the marker that ends it.
    fn unclosed_reasoning(&self) -> Option<Changed> {
        let is_end =
            |piece: &Piece| matches!(piece, Piece::Marker(_, text) if Some(&**text) == self.reasoning_end);
        let calls: Vec<Item> = self.calls().map(|(_, call)| call.clone()).collect();
        let mut ends = (0..self.length()).filter(|at| is_end(&self.output[*at]));
        let end = ends.next().filter(|_| ends.next().is_none() && !calls.is_empty())?;
        // Nothing but the reasoning's end shows a call that no marker begins.
        let is_bare = |item: &Item| match (&item.head, self.output.get(end + 1)) {
            (Head::ToolCall(call), Some(Piece::Text(text))) => text.contains(&call.name),
            _ => false,
        };
        // Where other markers end reasoning too, the only such marker may be a value's text.
        let is_its_text = |item: &Item| item.text.contains(text(&self.output[end]));
        if calls.iter().any(|call| is_bare(call) || is_its_text(call)) {
            return None;
        }
        (self.items.first()?.head == Head::Reasoning).then(|| Changed {
            what: "reasoning without its end".to_owned(),
            output: [&self.output[..end], &self.output[end + 1..]].concat(),
            must: Must::Calls(calls),
        })
    }

    /// A line end between two markers.
    fn white_space(&self) -> Vec<Changed> {
        let calls: Vec<Item> = self.calls().map(|(_, call)| call.clone()).filter(is_json).collect();
        let values: Vec<Value> =
            calls.iter().filter_map(|call| serde_json::from_str(&call.text).ok()).collect();
        // Markers inside a value are its text.
        let is_value = |at: usize| {
            let both = [text(&self.output[at - 1]), text(&self.output[at])].concat();
            values.iter().flat_map(strings).any(|string| string.contains(both.trim()))
        };
        let between =
            (1..self.length()).filter(|at| self.output[at - 1].touches(&self.output[*at]) && !is_value(*at));
        let changed = |at: usize| Changed {
            what: format!(
                "a line end between {:?} and {:?}",
                text(&self.output[at - 1]),
                text(&self.output[at])
            ),
            output: self.with(at, &[Piece::Text("\n".to_owned())]),
            must: Must::Calls(calls.clone()),
        };
        between.map(changed).collect()
    }
}

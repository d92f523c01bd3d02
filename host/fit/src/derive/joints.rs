//! The text between two places of a turn: learnt from probes, and put together again for others.

use std::collections::BTreeMap;

use super::locate::ProbePlace;
use super::point::{COUNTER, Point, Type};
use super::refusal::Underivable;

/// Two places that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pair {
    pub(super) from: Point,
    pub(super) to: Point,
    /// Whether a call stands before the one that begins or ends there.
    pub(super) is_later: bool,
}

/// The text between two places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Joint {
    /// The text; [`COUNTER`] stands for a counter's digits.
    pub(super) text: String,
    /// The probe that showed it.
    pub(super) probe: String,
}

/// All joints of a format.
#[derive(Debug, Clone, Default)]
pub(super) struct Joints {
    known: BTreeMap<Pair, Joint>,
    /// What each probe showed, before counters are found.
    seen: Vec<(Pair, usize, Joint)>,
    /// Whether strings of parameters stand in quotes.
    pub(super) has_quotes: bool,
}

impl Joints {
    /// Notes the text between the places of a turn.
    pub(super) fn note(&mut self, probe: &str, whole: &str, places: &[ProbePlace]) {
        let start = ProbePlace { point: Point::Start, call: 0, start: 0, end: 0 };
        let end = ProbePlace { point: Point::End, call: 0, start: whole.len(), end: whole.len() };
        let all: Vec<ProbePlace> = [&[start], places, &[end]].concat();
        for pair in all.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            if from.end > to.start {
                continue;
            }
            if to.point == Point::Value(Type::String) {
                self.has_quotes = whole[to.start..].starts_with(['"', '\'']);
            }
            let call = from.call.max(to.call);
            let key = Pair { from: from.point, to: to.point, is_later: call > 0 };
            let joint = Joint { text: whole[from.end..to.start].to_owned(), probe: probe.to_owned() };
            self.seen.push((key, call, joint));
        }
    }

    /// Finds counters, and checks that each joint is always written alike.
    pub(super) fn settle(&mut self) -> Result<(), Underivable> {
        self.find_counters();
        for (pair, _, joint) in std::mem::take(&mut self.seen) {
            match self.known.get(&pair) {
                Some(known) if known.text != joint.text => {
                    let reason = format!(
                        "encoding by content: between {} and {} stands {:?}, but in probe {} {:?}",
                        pair.from.name(),
                        pair.to.name(),
                        joint.text,
                        known.probe,
                        known.text
                    );
                    return Err(Underivable::new(&joint.probe, reason));
                }
                Some(_) => {}
                None => {
                    self.known.insert(pair, joint);
                }
            }
        }
        Ok(())
    }

    /// Puts [`COUNTER`] in place of digits that count calls.
    fn find_counters(&mut self) {
        let is_call_start = |pair: &Pair| !pair.from.is_in_call() && pair.to.is_in_call();
        let is_next_call =
            |pair: &Pair, call: usize| call > 0 && pair.from.is_in_call() && pair.to.is_in_call();
        let next: Vec<(Pair, String)> = self
            .seen
            .iter()
            .filter(|(pair, call, _)| is_next_call(pair, *call))
            .map(|(pair, _, joint)| (*pair, joint.text.clone()))
            .collect();
        for (later, text) in next {
            let firsts: Vec<usize> = (0..self.seen.len())
                .filter(|&index| {
                    let (pair, call, _) = &self.seen[index];
                    let is_same = pair.from == later.from && pair.to == later.to && !pair.is_later;
                    *call == 0 && (is_same || (is_call_start(pair) && pair.to == later.to))
                })
                .collect();
            for index in firsts {
                let first = self.seen[index].2.text.clone();
                let Some((first, counted)) = with_counter(&first, &text) else { continue };
                self.seen[index].2.text = first;
                for (pair, _, joint) in &mut self.seen {
                    if *pair == later && joint.text == text {
                        joint.text.clone_from(&counted);
                    }
                }
            }
        }
    }

    /// The text of a joint, and its key.
    pub(super) fn get(&self, from: Point, to: Point, is_later: bool) -> Option<(Pair, &Joint)> {
        let exact = Pair { from, to, is_later };
        let any = Pair { is_later: !is_later, ..exact };
        let found = [exact, any].into_iter().find_map(|pair| Some((pair, self.known.get(&pair)?)));
        found.or_else(|| self.of_any_type(from, to))
    }

    /// The joint of values of another type, if values of all types have the same.
    fn of_any_type(&self, from: Point, to: Point) -> Option<(Pair, &Joint)> {
        let is_like = |one: Point, other: Point| match (one, other) {
            (Point::Value(_), Point::Value(_)) => true,
            _ => one == other,
        };
        let mut like = self.known.iter().filter(|(pair, _)| is_like(pair.from, from) && is_like(pair.to, to));
        let (pair, first) = like.next()?;
        like.all(|(_, joint)| joint.text == first.text).then_some((*pair, first))
    }

    /// Text of a joint of the first call.
    pub(super) fn text(&self, from: Point, to: Point) -> Option<&str> {
        self.get(from, to, false).map(|(_, joint)| joint.text.as_str())
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&Pair, &Joint)> {
        self.known.iter()
    }
}

/// Both texts with [`COUNTER`] in place of the digits in which they differ, if the second counts one
/// more than the first and what follows is the same.
fn with_counter(first: &str, second: &str) -> Option<(String, String)> {
    let same: usize = first
        .chars()
        .rev()
        .zip(second.chars().rev())
        .take_while(|(a, b)| a == b)
        .map(|(a, _)| a.len_utf8())
        .sum();
    let split = |text: &str| {
        let head = &text[..text.len() - same];
        let digits = head.len() - head.trim_end_matches(|char: char| char.is_ascii_digit()).len();
        let number: usize = head[head.len() - digits..].parse().ok()?;
        let counted = format!("{}{COUNTER}{}", &head[..head.len() - digits], &text[text.len() - same..]);
        Some((number, counted))
    };
    let ((one, first), (two, second)) = (split(first)?, split(second)?);
    (two == one + 1).then_some((first, second))
}

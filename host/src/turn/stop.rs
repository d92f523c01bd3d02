//! Stop strings: they end the turn when they stand in a message. Reasoning and arguments are not searched.
//!
//! Invariant: the same text gives the same cut however it came in pieces: at the stop string that is complete first, and
//! the longest of those complete at the same byte. It isn't shown unless that was asked for. A filter between `Turn` and the protocol.

use std::sync::Arc;

use super::delta::Delta;
use super::event::{ItemHead, ItemStatus, TurnEvent};
use super::events::TurnEvents;

/// The stop strings of a request, ready to be looked for. Cheap to clone: all its turns share them.
#[derive(Debug, Clone, Default)]
pub struct StopPatterns(Arc<[Pattern]>);

impl StopPatterns {
    /// Empty strings are left out.
    pub fn new(strings: &[String]) -> Self {
        Self(strings.iter().filter(|string| !string.is_empty()).map(|string| Pattern::new(string)).collect())
    }
}

/// The stop strings of one turn, and how much of them the open message's end could be.
#[derive(Debug, Default)]
pub struct StopStrings {
    patterns: StopPatterns,
    /// Of each pattern, how many bytes the text ends in.
    matched: Box<[usize]>,
    /// What came is shown.
    shown: bool,
    /// The end of the message's text, which may yet become a stop string.
    held: Delta,
    /// The open message, until it has text to show.
    head: Option<TurnEvent>,
    state: State,
    /// The pattern that came.
    found: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    /// No message is open.
    #[default]
    Outside,
    /// A message is open.
    Inside,
    /// A stop string came.
    Ended,
}

impl StopStrings {
    /// A filter for one turn.
    pub fn new(patterns: StopPatterns) -> Self {
        Self { matched: patterns.0.iter().map(|_| 0).collect(), patterns, ..Self::default() }
    }

    /// The same filter; the string that comes is part of the message if `shown`.
    #[must_use]
    pub fn with_stop_shown(mut self, shown: bool) -> Self {
        self.shown = shown;
        self
    }

    /// Whether there is nothing to stop at.
    pub fn is_idle(&self) -> bool {
        self.matched.is_empty()
    }

    /// Passes one event on. True once a stop string has come: the message has been closed then, the caller ends the turn
    /// as one that the model ended, and nothing that is still fed here comes out.
    pub fn filter(&mut self, event: TurnEvent, out: &mut TurnEvents) -> bool {
        match (self.state, event) {
            (State::Ended, _) => {}
            (State::Outside, head @ TurnEvent::Open(ItemHead::Message { .. })) if !self.is_idle() => {
                self.state = State::Inside;
                self.head = Some(head);
            }
            (State::Inside, TurnEvent::Text(delta)) => self.text(delta, out),
            (State::Inside, TurnEvent::Close(status)) => self.close(status, out),
            (_, event) => out.push(event),
        }
        self.state == State::Ended
    }

    /// The stop string that came, if one has.
    pub fn found(&self) -> Option<&str> {
        let pattern = &self.patterns.0[self.found?];
        Some(std::str::from_utf8(&pattern.bytes).expect("stop strings are text"))
    }

    fn text(&mut self, delta: Delta, out: &mut TurnEvents) {
        for (at, byte) in delta.bytes().enumerate() {
            if let Some((length, pattern)) = self.step(byte) {
                self.found = Some(pattern);
                let seen = self.held.len() + at + 1;
                self.held.append(delta);
                self.held.split_off(if self.shown { seen } else { seen - length });
                self.close(ItemStatus::Completed, out);
                self.state = State::Ended;
                return;
            }
        }
        let undecided = self.matched.iter().copied().max().unwrap_or_default();
        if self.held.is_empty() && undecided == 0 {
            return self.tell(delta, out);
        }
        self.held.append(delta);
        let kept = self.held.split_off(self.held.len() - undecided);
        let released = std::mem::replace(&mut self.held, kept);
        self.tell(released, out);
    }

    /// One byte more; length and place of the stop string that it completes.
    fn step(&mut self, byte: u8) -> Option<(usize, usize)> {
        let patterns = self.patterns.0.iter().zip(&mut self.matched).enumerate();
        patterns.filter_map(|(at, (pattern, matched))| Some((pattern.step(matched, byte)?, at))).max()
    }

    /// The message is over: what was held is text.
    fn close(&mut self, status: ItemStatus, out: &mut TurnEvents) {
        let held = std::mem::take(&mut self.held);
        self.tell(held, out);
        if self.head.take().is_none() {
            out.push(TurnEvent::Close(status));
        }
        self.matched.fill(0);
        self.state = State::Outside;
    }

    fn tell(&mut self, delta: Delta, out: &mut TurnEvents) {
        if !delta.is_empty() {
            out.extend(self.head.take());
            out.push(TurnEvent::Text(delta));
        }
    }
}

/// One stop string, matched byte by byte (Knuth, Morris, Pratt).
#[derive(Debug)]
struct Pattern {
    bytes: Box<[u8]>,
    /// For each prefix, the length of the longest shorter prefix that it ends in.
    borders: Box<[u32]>,
}

impl Pattern {
    fn new(string: &str) -> Self {
        let mut pattern = Self { bytes: string.as_bytes().into(), borders: vec![0; string.len() + 1].into() };
        let mut border = 0;
        for end in 1..string.len() {
            border = pattern.extend(border, string.as_bytes()[end]);
            pattern.borders[end + 1] = u32::try_from(border).expect("a stop string is shorter than 4 GiB");
        }
        pattern
    }

    /// One byte more; the pattern's length where it is complete.
    fn step(&self, matched: &mut usize, byte: u8) -> Option<usize> {
        *matched = self.extend(*matched, byte);
        (*matched == self.bytes.len()).then_some(*matched)
    }

    /// How much of the pattern a text ends in that ended in `matched` bytes of it, fewer than all, and has one byte more.
    fn extend(&self, mut matched: usize, byte: u8) -> usize {
        while matched > 0 && self.bytes[matched] != byte {
            matched = self.borders[matched] as usize;
        }
        matched + usize::from(self.bytes[matched] == byte)
    }
}

//! Stop strings: they end the turn when they stand in a message. Reasoning and arguments are not searched.
//!
//! Invariant: the same text gives the same cut however it came in pieces: at the stop string that is complete first, and
//! the longest of those complete at the same byte. It isn't shown unless that was asked for. A filter between `Turn` and the protocol.

use super::delta::Delta;
use super::event::{ItemHead, ItemStatus, TurnEvent};
use super::events::TurnEvents;

/// The stop strings of one turn, and how much of them the open message's end could be.
#[derive(Debug, Default)]
pub struct StopStrings {
    patterns: Vec<Pattern>,
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
    /// A filter for `strings`; empty ones are left out.
    pub fn new(strings: &[String]) -> Self {
        let patterns =
            strings.iter().filter(|string| !string.is_empty()).map(|string| Pattern::new(string)).collect();
        Self { patterns, ..Self::default() }
    }

    /// The same filter; the string that comes is part of the message if `shown`.
    #[must_use]
    pub fn with_stop_shown(mut self, shown: bool) -> Self {
        self.shown = shown;
        self
    }

    /// Whether there is nothing to stop at.
    pub fn is_idle(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Passes one event on. True once a stop string has come: the message has been closed then, the caller ends the turn
    /// as one that the model ended, and nothing that is still fed here comes out.
    pub fn filter(&mut self, event: TurnEvent, out: &mut TurnEvents) -> bool {
        match (self.state, event) {
            (State::Ended, _) => {}
            (State::Outside, head @ TurnEvent::Open(ItemHead::Message { .. }))
                if !self.patterns.is_empty() =>
            {
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
        let pattern = &self.patterns[self.found?];
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
        let undecided = self.patterns.iter().map(|pattern| pattern.matched).max().unwrap_or_default();
        if self.held.is_empty() && undecided == 0 {
            return self.tell(delta, out);
        }
        self.held.append(delta);
        let kept = self.held.split_off(self.held.len() - undecided);
        let told = std::mem::replace(&mut self.held, kept);
        self.tell(told, out);
    }

    /// One byte more; length and place of the stop string that it completes.
    fn step(&mut self, byte: u8) -> Option<(usize, usize)> {
        let patterns = self.patterns.iter_mut().enumerate();
        patterns.filter_map(|(at, pattern)| pattern.step(byte).map(|length| (length, at))).max()
    }

    /// The message is over: what was held is text.
    fn close(&mut self, status: ItemStatus, out: &mut TurnEvents) {
        let held = std::mem::take(&mut self.held);
        self.tell(held, out);
        if self.head.take().is_none() {
            out.push(TurnEvent::Close(status));
        }
        for pattern in &mut self.patterns {
            pattern.matched = 0;
        }
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
    borders: Box<[usize]>,
    matched: usize,
}

impl Pattern {
    fn new(string: &str) -> Self {
        let mut pattern = Self { bytes: string.as_bytes().into(), borders: Box::default(), matched: 0 };
        let mut borders = vec![0; string.len() + 1];
        for end in 1..string.len() {
            let mut border: usize = borders[end];
            while border > 0 && pattern.bytes[border] != pattern.bytes[end] {
                border = borders[border];
            }
            borders[end + 1] = border + usize::from(pattern.bytes[border] == pattern.bytes[end]);
        }
        pattern.borders = borders.into();
        pattern
    }

    /// One byte more; the pattern's length where it is complete.
    fn step(&mut self, byte: u8) -> Option<usize> {
        while self.matched > 0 && self.bytes[self.matched] != byte {
            self.matched = self.borders[self.matched];
        }
        self.matched += usize::from(self.bytes[self.matched] == byte);
        (self.matched == self.bytes.len()).then_some(self.matched)
    }
}

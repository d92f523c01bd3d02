//! Filter for stop strings: one that occurs in a message ends the turn. Reasoning and arguments are
//! not searched.
//!
//! Invariant: the same text gives the same cut however it is cut into pieces: at the stop string
//! that is complete first, and the longest of those complete at the same byte. It isn't shown
//! unless that was asked for. The filter stands between `Turn` and the protocol.

use std::sync::Arc;

use super::event::{Delta, ItemHead, ItemStatus, TurnEvent};
use super::events::TurnEvents;

/// Stop strings of a request, compiled for matching. Cheap to clone: all turns of the request share
/// them.
#[derive(Debug, Clone, Default)]
pub struct StopPatterns(Arc<[Pattern]>);

impl StopPatterns {
    /// Compiles `strings`; empty ones are left out.
    pub fn new(strings: &[String]) -> Self {
        Self(strings.iter().filter(|string| !string.is_empty()).map(|string| Pattern::new(string)).collect())
    }
}

/// Filter for stop strings in the events of one turn.
#[derive(Debug, Default)]
pub struct StopStrings {
    patterns: StopPatterns,
    /// For each pattern, the number of its bytes that the message's text ends in.
    matched: Box<[usize]>,
    /// Whether the stop string that comes is part of the message.
    shown: bool,
    /// Number of tokens whose text completes no stop string (vLLM's `min_tokens`).
    min_tokens: u32,
    /// Whether the turn has no more tokens than that.
    is_early: bool,
    /// End of the message's text, held back because it may yet become a stop string.
    held: Delta,
    /// `Open` event of the message, until there is text to show.
    head: Option<TurnEvent>,
    state: State,
    /// Index of the pattern that came.
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
    /// Creates a filter for one turn.
    pub fn new(patterns: StopPatterns) -> Self {
        Self { matched: patterns.0.iter().map(|_| 0).collect(), patterns, ..Self::default() }
    }

    /// Sets whether the stop string that comes is part of the message.
    #[must_use]
    pub fn with_stop_shown(mut self, shown: bool) -> Self {
        self.shown = shown;
        self
    }

    /// Sets the number of tokens that the turn has at least.
    #[must_use]
    pub fn with_min_tokens(mut self, min_tokens: u32) -> Self {
        self.min_tokens = min_tokens;
        self
    }

    /// Takes the number of the turn's tokens, before the events of the last one.
    pub fn counted(&mut self, tokens: u32) {
        self.is_early = tokens <= self.min_tokens;
    }

    /// Whether there are no stop strings.
    pub fn is_idle(&self) -> bool {
        self.matched.is_empty()
    }

    /// Filters one event into `out`. Returns true once a stop string has come: the message has been
    /// closed then, the caller ends the turn as if the model had ended it, and later events are not
    /// passed on.
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
            return self.write(delta, out);
        }
        self.held.append(delta);
        let kept = self.held.split_off(self.held.len() - undecided);
        let released = std::mem::replace(&mut self.held, kept);
        self.write(released, out);
    }

    /// Takes one more byte. Returns length and index of the longest stop string that it completes.
    fn step(&mut self, byte: u8) -> Option<(usize, usize)> {
        let patterns = self.patterns.0.iter().zip(&mut self.matched).enumerate();
        let completed = patterns.filter_map(|(at, (pattern, matched))| {
            let length = pattern.step(matched, byte)?;
            if self.is_early {
                *matched = pattern.borders[length] as usize;
                return None;
            }
            Some((length, at))
        });
        completed.max()
    }

    /// Closes the message: text that is still held back is written.
    fn close(&mut self, status: ItemStatus, out: &mut TurnEvents) {
        let held = std::mem::take(&mut self.held);
        self.write(held, out);
        if self.head.take().is_none() {
            out.push(TurnEvent::Close(status));
        }
        self.matched.fill(0);
        self.state = State::Outside;
    }

    fn write(&mut self, delta: Delta, out: &mut TurnEvents) {
        if !delta.is_empty() {
            out.extend(self.head.take());
            out.push(TurnEvent::Text(delta));
        }
    }
}

/// Matcher of one stop string, byte by byte (Knuth, Morris, Pratt).
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

    /// Takes one more byte. Returns the pattern's length if it is complete.
    fn step(&self, matched: &mut usize, byte: u8) -> Option<usize> {
        *matched = self.extend(*matched, byte);
        (*matched == self.bytes.len()).then_some(*matched)
    }

    /// Number of the pattern's bytes that a text ends in after `byte`, if it ended in `matched` of
    /// them before, fewer than all.
    fn extend(&self, mut matched: usize, byte: u8) -> usize {
        while matched > 0 && self.bytes[matched] != byte {
            matched = self.borders[matched] as usize;
        }
        matched + usize::from(self.bytes[matched] == byte)
    }
}

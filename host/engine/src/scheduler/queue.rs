//! Requests that haven't begun, and which of them is next.
//!
//! The rule: the lower number of priority first; among requests of one priority, that of the principal who was given the fewest tokens
//! (`virtual_tokens.rs`), of equals that of the one that was served longest ago; of one principal, in order of arrival.
//! Invariant (nobody starves among equals): what a principal sends while it has nothing waiting, and is not ahead of the others, begins
//! after at most one request of each other principal of that priority, however many those have waiting. One that is ahead by so many
//! tokens waits until the others have been given as many. Of two that always wait, neither is ahead by more than a prompt and the
//! answers under way. Whoever is next isn't passed by, however small others' requests are.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::virtual_tokens::VirtualTokens;
use crate::sequence::Sequence;

/// Priority and principal.
type LineKey = (i32, u64);

/// See the module.
#[derive(Default)]
pub(super) struct Queue {
    /// Each in order of arrival, none empty.
    lines: BTreeMap<LineKey, VecDeque<Waiting>>,
    tokens: VirtualTokens,
    arrivals: u64,
    length: usize,
}

struct Waiting {
    /// Place in the order of arrival, of all lines together.
    arrival: u64,
    sequence: Sequence,
}

impl Queue {
    /// Requests in all lines.
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Puts a request at its line's end.
    pub(super) fn push(&mut self, mut sequence: Sequence, now: Duration) {
        sequence.queued_at = now;
        let (priority, principal) = key(&sequence);
        if !self.lines.contains_key(&(priority, principal)) {
            let others = self.principals(priority).map(|(_, principal)| principal);
            let least = others.map(|other| self.tokens.of(other).tokens).min();
            self.tokens.join(principal, least);
        }
        let line = self.lines.entry((priority, principal)).or_default();
        line.push_back(Waiting { arrival: self.arrivals, sequence });
        self.arrivals += 1;
        self.length += 1;
    }

    /// The request that is next.
    pub(super) fn next(&mut self) -> Option<&mut Sequence> {
        let key = self.next_key()?;
        self.lines.get_mut(&key)?.front_mut().map(|waiting| &mut waiting.sequence)
    }

    /// Takes it out.
    pub(super) fn pop(&mut self) -> Option<Sequence> {
        let key = self.next_key()?;
        let line = self.lines.get_mut(&key)?;
        let next = line.pop_front();
        if line.is_empty() {
            self.lines.remove(&key);
        }
        self.length -= usize::from(next.is_some());
        self.tokens.serve(key.1);
        next.map(|waiting| waiting.sequence)
    }

    /// A principal was given tokens: its own to be computed, or generated ones.
    pub(super) fn charge(&mut self, principal: u64, tokens: usize) {
        self.tokens.charge(principal, tokens);
    }

    /// Takes out all of which this is true, oldest first within a line.
    pub(super) fn take(&mut self, is_meant: impl Fn(&Sequence) -> bool) -> Vec<Sequence> {
        let mut taken = Vec::new();
        self.lines.retain(|_, line| {
            if line.iter().any(|one| is_meant(&one.sequence)) {
                let (gone, kept): (VecDeque<_>, _) =
                    std::mem::take(line).into_iter().partition(|one| is_meant(&one.sequence));
                taken.extend(gone.into_iter().map(|one| one.sequence));
                *line = kept;
            }
            !line.is_empty()
        });
        self.length -= taken.len();
        taken
    }

    /// When the request that has waited for the longest time began to.
    pub(super) fn longest_waiting(&self) -> Option<Duration> {
        self.lines.values().filter_map(|line| line.front()).map(|one| one.sequence.queued_at).min()
    }

    fn next_key(&self) -> Option<LineKey> {
        let (priority, _) = *self.lines.keys().next()?;
        self.principals(priority).min_by_key(|key| (self.tokens.of(key.1), self.lines[key][0].arrival))
    }

    /// Lines of one priority.
    fn principals(&self, priority: i32) -> impl Iterator<Item = LineKey> + '_ {
        self.lines.range((priority, 0)..=(priority, u64::MAX)).map(|(key, _)| *key)
    }

    /// All of one line after the other.
    #[cfg(test)]
    pub(super) fn sequences(&self) -> impl Iterator<Item = &Sequence> {
        self.lines.values().flatten().map(|waiting| &waiting.sequence)
    }

    /// Tokens that a principal was given.
    #[cfg(test)]
    pub(super) fn given(&self, principal: u64) -> u64 {
        self.tokens.of(principal).tokens
    }
}

fn key(sequence: &Sequence) -> LineKey {
    (sequence.priority, sequence.principal)
}

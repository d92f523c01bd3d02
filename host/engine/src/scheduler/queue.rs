//! Queue of requests that haven't begun, and the rule that chooses the next one.
//!
//! The rule: the lowest priority number first; within a priority, the principal that was given the fewest tokens
//! (`virtual_tokens.rs`), among equals the principal that was served longest ago; within a principal, in order of arrival.
//! Invariant (no principal starves within a priority): the request of a principal that has no other waiting, and isn't ahead of the others,
//! begins after at most one request of each other principal of that priority, however many others wait. A principal that is ahead by
//! some number of tokens waits until the others have been given as many. Of two principals that always have requests waiting, neither is
//! ahead by more than a prompt and the answers under way. No request overtakes the next one, however small it is.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::virtual_tokens::VirtualTokens;
use crate::sequence::Sequence;

/// Priority and principal.
type LineKey = (i32, u64);

/// Queue of waiting requests, in a line for each priority and principal.
#[derive(Default)]
pub(super) struct Queue {
    /// Lines, each in order of arrival, none empty.
    lines: BTreeMap<LineKey, VecDeque<Waiting>>,
    tokens: VirtualTokens,
    arrivals: u64,
    length: usize,
}

struct Waiting {
    /// Number of requests that arrived before, of all lines together.
    arrival: u64,
    sequence: Sequence,
}

impl Queue {
    /// Number of requests in all lines.
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Appends a request to the line of its priority and principal.
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

    /// The request that begins next.
    pub(super) fn next(&mut self) -> Option<&mut Sequence> {
        let key = self.next_key()?;
        self.lines.get_mut(&key)?.front_mut().map(|waiting| &mut waiting.sequence)
    }

    /// Removes the request that [`Self::next`] returns, and counts its principal as served.
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

    /// Counts tokens that a principal was given: prompt tokens to compute, or generated ones.
    pub(super) fn charge(&mut self, principal: u64, tokens: usize) {
        self.tokens.charge(principal, tokens);
    }

    /// Removes all requests for which `is_meant` is true, oldest first within a line.
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

    /// Time at which the request that has waited longest was queued.
    pub(super) fn longest_waiting(&self) -> Option<Duration> {
        self.lines.values().filter_map(|line| line.front()).map(|one| one.sequence.queued_at).min()
    }

    fn next_key(&self) -> Option<LineKey> {
        let (priority, _) = *self.lines.keys().next()?;
        self.principals(priority).min_by_key(|key| (self.tokens.of(key.1), self.lines[key][0].arrival))
    }

    /// Keys of the lines of one priority.
    fn principals(&self, priority: i32) -> impl Iterator<Item = LineKey> + '_ {
        self.lines.range((priority, 0)..=(priority, u64::MAX)).map(|(key, _)| *key)
    }

    /// All requests, line after line.
    #[cfg(test)]
    pub(super) fn sequences(&self) -> impl Iterator<Item = &Sequence> {
        self.lines.values().flatten().map(|waiting| &waiting.sequence)
    }

    /// Number of tokens that a principal was given.
    #[cfg(test)]
    pub(super) fn given(&self, principal: u64) -> u64 {
        self.tokens.of(principal).tokens
    }
}

fn key(sequence: &Sequence) -> LineKey {
    (sequence.priority, sequence.principal)
}

//! Queue of requests that haven't begun, and the rule that chooses the principal whose request
//! begins next.
//!
//! The rule: the principal that was given the fewest tokens (`virtual_tokens.rs`), among equals the
//! principal that was served longest ago; within a principal the lowest priority number, and in
//! order of arrival. A priority says nothing to other principals: every client may set it.
//! Invariant (no principal starves): the request of a principal that has no other waiting, and
//! isn't ahead of the others, begins after at most one request of each other principal, however
//! many others wait. A principal that is ahead by some number of tokens waits until the others have
//! been given as many. Of two principals that always have requests waiting, neither is ahead by
//! more than a prompt and the answers under way. No request overtakes the next one, however small
//! it is.

use std::collections::BTreeMap;
use std::time::Duration;

use super::virtual_tokens::VirtualTokens;
use crate::sequence::Sequence;

/// Waiting requests of one principal, by priority and by the number of requests, of all principals,
/// that arrived before.
type Line = BTreeMap<(i32, u64), Sequence>;

/// Queue of waiting requests, in a line for each principal.
#[derive(Default)]
pub(super) struct Queue {
    /// Lines by principal, none empty.
    lines: BTreeMap<u64, Line>,
    tokens: VirtualTokens,
    arrivals: u64,
    length: usize,
}

impl Queue {
    /// Number of requests in all lines.
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Appends a request to the line of its principal. `begun` are the principals of sequences that
    /// have begun.
    pub(super) fn push(&mut self, mut sequence: Sequence, now: Duration, begun: impl Iterator<Item = u64>) {
        sequence.queued_at = now;
        let (principal, priority) = (sequence.principal, sequence.priority);
        if !self.lines.contains_key(&principal) {
            self.tokens.join(principal, self.lines.keys().copied(), begun);
        }
        self.lines.entry(principal).or_default().insert((priority, self.arrivals), sequence);
        self.arrivals += 1;
        self.length += 1;
    }

    /// The principal whose request begins next, of those in the queue and of `preempted`, which
    /// have preempted sequences.
    pub(super) fn next_principal(&self, preempted: impl Iterator<Item = u64>) -> Option<u64> {
        let arrival = |line: &Line| line.first_key_value().map(|((_, arrival), _)| *arrival);
        let preempted = preempted.map(|principal| (principal, None));
        let new = self.lines.iter().map(|(principal, line)| (*principal, arrival(line)));
        let order = |(principal, arrival): &(u64, Option<u64>)| (self.tokens.of(*principal), *arrival);
        preempted.chain(new).min_by_key(order).map(|(principal, _)| principal)
    }

    /// The request of a principal that begins first.
    pub(super) fn first(&mut self, principal: u64) -> Option<&mut Sequence> {
        self.lines.get_mut(&principal)?.values_mut().next()
    }

    /// Removes the request that [`Self::first`] returns, and counts its principal as served.
    pub(super) fn pop(&mut self, principal: u64) -> Option<Sequence> {
        let line = self.lines.get_mut(&principal)?;
        let (_, first) = line.pop_first()?;
        if line.is_empty() {
            self.lines.remove(&principal);
        }
        self.length -= 1;
        self.tokens.serve(principal);
        Some(first)
    }

    /// Counts tokens that a principal was given: prompt tokens to compute, or generated ones.
    pub(super) fn charge(&mut self, principal: u64, tokens: usize) {
        self.tokens.charge(principal, tokens);
    }

    /// Removes all requests for which `should_leave` is true.
    pub(super) fn remove_if(&mut self, should_leave: impl Fn(&Sequence) -> bool) -> Vec<Sequence> {
        let mut taken = Vec::new();
        self.lines.retain(|_, line| {
            taken.extend(line.extract_if(.., |_, one| should_leave(one)).map(|(_, one)| one));
            !line.is_empty()
        });
        self.length -= taken.len();
        taken
    }

    /// Time at which the request that has waited longest was queued.
    pub(super) fn longest_waiting(&self) -> Option<Duration> {
        self.lines.values().flat_map(BTreeMap::values).map(|one| one.queued_at).min()
    }

    /// All requests, line after line.
    #[cfg(test)]
    pub(super) fn sequences(&self) -> impl Iterator<Item = &Sequence> {
        self.lines.values().flat_map(BTreeMap::values)
    }

    /// Number of tokens that a principal was given.
    #[cfg(test)]
    pub(super) fn given(&self, principal: u64) -> u64 {
        self.tokens.of(principal).tokens
    }
}

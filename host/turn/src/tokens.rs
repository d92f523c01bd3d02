//! Counts of tokens by kind of output: a token belongs to the route of its first byte. `ledger` and
//! `stream` call it.

use std::collections::VecDeque;
use std::sync::Arc;

use super::event::{DeltaToken, TokenLogprobs};
use contract::Route;

/// Numbers of one turn's tokens by where they went; the prompt's aren't counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenCounts {
    /// Reasoning.
    pub reasoning: u32,
    /// Messages.
    pub content: u32,
    /// Arguments of tool calls.
    pub arguments: u32,
    /// Markup.
    pub dropped: u32,
}

/// Numbers of tokens by route, in the contract's order.
pub(super) type RouteCounts = [u32; Route::Drop as usize + 1];

/// Tokens whose first byte isn't routed yet, oldest first.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    /// Byte of the stream at which the newest token's text begins. Most tokens are routed before
    /// the next one comes. A token without text begins where the next one does.
    youngest: Option<u64>,
    /// Bytes at which the tokens before it begin.
    older: VecDeque<u64>,
    /// Starts and log-probabilities of the tokens whose log-probabilities are asked for.
    known: VecDeque<(u64, Arc<TokenLogprobs>)>,
    /// Number of tokens that went to each route.
    counts: RouteCounts,
    /// Content tokens with log-probabilities that begin in the run routed last.
    pub(super) content: Vec<DeltaToken>,
}

impl Tokens {
    /// Adds a token whose text begins at byte `start` of the stream.
    #[inline]
    pub(super) fn push(&mut self, start: u64, logprobs: Option<&Arc<TokenLogprobs>>) {
        if let Some(older) = self.youngest.replace(start) {
            self.older.push_back(older);
        }
        if let Some(logprobs) = logprobs {
            self.known.push_back((start, Arc::clone(logprobs)));
        }
    }

    /// Counts the tokens that begin in bytes `from` to `end` of the stream, which have been routed
    /// to `route`.
    #[inline]
    pub(super) fn routed(&mut self, from: u64, end: u64, route: Route) {
        if !self.older.is_empty() {
            self.count_older(end, route);
        }
        if self.youngest.take_if(|start| *start < end).is_some() {
            self.count(route);
        }
        if !(self.known.is_empty() && self.content.is_empty()) {
            self.take_known(from, end, route);
        }
    }

    #[inline(never)]
    fn count_older(&mut self, end: u64, route: Route) {
        while self.older.pop_front_if(|start| *start < end).is_some() {
            self.count(route);
        }
    }

    #[inline(never)]
    fn take_known(&mut self, from: u64, end: u64, route: Route) {
        self.content.clear();
        while let Some((start, logprobs)) = self.known.pop_front_if(|(start, _)| *start < end) {
            if route == Route::Content {
                let offset = usize::try_from(start.saturating_sub(from)).unwrap_or(usize::MAX);
                self.content.push(DeltaToken { offset, logprobs });
            }
        }
    }

    /// Ends the stream: tokens that never got any text are counted as markup.
    pub(super) fn finish(&mut self) {
        self.routed(u64::MAX, u64::MAX, Route::Drop);
    }

    pub(super) fn counts(&self) -> TokenCounts {
        let count = |route| self.counts[route as usize];
        TokenCounts {
            reasoning: count(Route::Reasoning),
            content: count(Route::Content),
            arguments: count(Route::Arguments)
                + count(Route::ArgumentsEscaped)
                + count(Route::ArgumentsUnescaped)
                + count(Route::Value),
            dropped: count(Route::Drop),
        }
    }

    /// Numbers of tokens counted so far.
    pub(super) fn by_route(&self) -> RouteCounts {
        self.counts
    }

    /// Counts the tokens between these two moments as reasoning.
    pub(super) fn recount(&mut self, before: &RouteCounts, after: &RouteCounts) {
        for (route, count) in self.counts.iter_mut().enumerate() {
            *count -= after[route] - before[route];
        }
        let tokens = after.iter().sum::<u32>() - before.iter().sum::<u32>();
        self.counts[Route::Reasoning as usize] += tokens;
    }

    fn count(&mut self, route: Route) {
        self.counts[route as usize] += 1;
    }
}

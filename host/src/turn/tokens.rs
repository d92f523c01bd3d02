//! Which kind of output each token went to: a token belongs to the route of its first byte. `router` calls it.

use std::collections::VecDeque;
use std::sync::Arc;

use super::delta::{DeltaToken, TokenLogprobs};
use crate::parser::contract::Route;

/// Tokens of one turn by where they went; the prompt's aren't counted.
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

/// Tokens whose first byte isn't routed yet, oldest first.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    /// Where in the stream the text of the youngest begins; most are routed before the next one comes. One without text
    /// begins where the next one does.
    youngest: Option<u64>,
    /// The same of those before it.
    older: VecDeque<u64>,
    /// All of those whose probability is asked for.
    known: VecDeque<(u64, Arc<TokenLogprobs>)>,
    /// How many went to each route, in the contract's order.
    counts: [u32; Route::Drop as usize + 1],
    /// Content tokens of known probability that begin in the part routed last.
    pub(super) content: Vec<DeltaToken>,
}

impl Tokens {
    /// A token whose text begins at byte `start` of the stream.
    #[inline]
    pub(super) fn push(&mut self, start: u64, logprobs: Option<&Arc<TokenLogprobs>>) {
        if let Some(older) = self.youngest.replace(start) {
            self.older.push_back(older);
        }
        if let Some(logprobs) = logprobs {
            self.known.push_back((start, Arc::clone(logprobs)));
        }
    }

    /// The stream from byte `from` to byte `end` has been routed to `route`.
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
                let at = usize::try_from(start.saturating_sub(from)).unwrap_or(usize::MAX);
                self.content.push(DeltaToken { at, logprobs });
            }
        }
    }

    /// The stream is over; tokens that never got any text were markup.
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
                + count(Route::ArgumentsUnescaped),
            dropped: count(Route::Drop),
        }
    }

    fn count(&mut self, route: Route) {
        self.counts[route as usize] += 1;
    }
}

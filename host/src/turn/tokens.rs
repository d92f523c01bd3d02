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
    /// Where in the stream each token's text begins, and its probability if that is asked for. One without text begins
    /// where the next one does.
    starts: VecDeque<(u64, Option<Arc<TokenLogprobs>>)>,
    counts: TokenCounts,
    /// Content tokens of known probability that begin in the part routed last.
    pub(super) content: Vec<DeltaToken>,
}

impl Tokens {
    /// A token whose text begins at byte `start` of the stream.
    pub(super) fn push(&mut self, start: u64, logprobs: Option<&Arc<TokenLogprobs>>) {
        self.starts.push_back((start, logprobs.cloned()));
    }

    /// The stream from byte `from` to byte `end` has been routed to `route`.
    pub(super) fn routed(&mut self, from: u64, end: u64, route: Route) {
        self.content.clear();
        while self.starts.front().is_some_and(|(start, _)| *start < end) {
            let Some((start, logprobs)) = self.starts.pop_front() else { return };
            self.count(route);
            if let (Some(logprobs), Route::Content) = (logprobs, route) {
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
        self.counts
    }

    fn count(&mut self, route: Route) {
        let count = match route {
            Route::Content => &mut self.counts.content,
            Route::Reasoning => &mut self.counts.reasoning,
            Route::Arguments | Route::ArgumentsEscaped | Route::ArgumentsUnescaped => {
                &mut self.counts.arguments
            }
            Route::Drop => &mut self.counts.dropped,
        };
        *count += 1;
    }
}

//! A client of the fake model's scheduler, which reads when the test says so.

use std::task::{Context, Poll, Waker};

use super::scored_alone;
use crate::generation::{Finish, StepOutput, StepStream};
use crate::outlet::Inlet;
use crate::token::Token;

/// A client that reads only when the test calls [`Client::read`].
pub(crate) struct Client {
    inlet: Option<Inlet>,
    pub(crate) tokens: Vec<u32>,
    /// The prompt's tokens with their log-probabilities.
    pub(crate) scored: Vec<Token>,
    pub(crate) cached: usize,
    pub(crate) finish: Option<Finish>,
}

impl Client {
    pub(super) fn new(inlet: Inlet) -> Self {
        Self { inlet: Some(inlet), tokens: Vec::new(), scored: Vec::new(), cached: 0, finish: None }
    }

    /// Reads at most `steps` steps that are there; returns how many it got.
    pub(crate) fn read(&mut self, steps: usize) -> usize {
        (0..steps).take_while(|_| self.read_one()).count()
    }

    fn read_one(&mut self) -> bool {
        let Some(inlet) = &mut self.inlet else { return false };
        let mut cx = Context::from_waker(Waker::noop());
        let Poll::Ready(Some(StepOutput { tokens, finish, prompt_tokens, cached_tokens, .. })) =
            inlet.poll_step(&mut cx)
        else {
            return false;
        };
        assert!(self.finish.is_none(), "a step after the last");
        assert!(self.tokens.is_empty() || prompt_tokens.is_empty(), "scores come with the first token");
        self.scored.extend(prompt_tokens);
        self.tokens.extend(tokens.iter().map(|token| token.id));
        self.finish = finish;
        self.cached = cached_tokens;
        true
    }

    /// Checks the scores of `prompt`: none, or all as defined, each with `top` alternatives.
    pub(crate) fn check_scores(&self, prompt: &[u32], top: Option<u8>) {
        let Some(top) = top else { return assert!(self.scored.is_empty()) };
        let expected = scored_alone(prompt);
        assert_eq!(self.scored.len(), expected.len());
        for (token, (id, logprob)) in self.scored.iter().zip(expected) {
            let told = token.logprobs.as_ref().expect("it was asked for");
            assert_eq!((token.id, told.top.len()), (id, usize::from(top)));
            assert!((told.chosen - logprob).abs() < 1e-4, "{} instead of {logprob}", told.chosen);
        }
    }

    pub(crate) fn leave(&mut self) {
        self.inlet = None;
    }

    pub(crate) fn left(&self) -> bool {
        self.inlet.is_none()
    }
}

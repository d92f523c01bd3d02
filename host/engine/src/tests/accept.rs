//! A sequence that takes several tokens at a time.

use super::fake::request;
use crate::error::{GenerationError, MaskError};
use crate::generation::{Finish, Generation, GenerationRequest, StepOutput, TokenMask};
use crate::notify::Notify;
use crate::outlet::outlet;
use crate::sequence::Sequence;
use crate::token::Token;
use std::sync::Arc;

fn ids(step: &StepOutput) -> Vec<u32> {
    step.tokens.iter().map(|token| token.id).collect()
}

/// Result of accepting these tokens in one step, and the steps that the client sees.
fn accept(request: GenerationRequest, tokens: &[u32]) -> (Result<usize, GenerationError>, Vec<StepOutput>) {
    let (outlet, inlet) = outlet(9, false, Arc::<Notify>::default());
    let mut sequence = Sequence::new(request, 100, outlet);
    let accepted = sequence.accept(tokens.iter().map(|id| Token { id: *id, logprobs: None }).collect());
    drop(sequence);
    let mut generation = Generation::new(inlet);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let steps = runtime.block_on(async {
        let mut steps = Vec::new();
        while let Some(step) = generation.next().await {
            steps.push(step);
        }
        steps
    });
    (accepted, steps)
}

#[test]
fn all_of_them_go_out_in_one_step() {
    let (accepted, steps) = accept(request([1], 9), &[5, 6, 7]);
    assert_eq!((accepted, steps.len()), (Ok(3), 1));
    assert_eq!((ids(&steps[0]), &steps[0].finish), (vec![5, 6, 7], &None));
}

#[test]
fn what_comes_after_a_stop_or_the_limit_is_dropped() {
    let stop = GenerationRequest { stop_ids: [6].into(), ..request([1], 9) };
    let (accepted, steps) = accept(stop, &[5, 6, 7]);
    assert_eq!((accepted, ids(&steps[0]), &steps[0].finish), (Ok(2), vec![5], &Some(Finish::Stop(6))));
    let (accepted, steps) = accept(request([1], 2), &[5, 6, 7]);
    assert_eq!((accepted, ids(&steps[0]), &steps[0].finish), (Ok(2), vec![5, 6], &Some(Finish::Length)));
}

#[test]
fn what_a_mask_took_before_it_refused_is_not_lost() {
    #[derive(Debug)]
    struct Below(u32);
    impl TokenMask for Below {
        fn apply(&mut self, _: &mut [u32]) -> Result<(), MaskError> {
            Ok(())
        }
        fn advance(&mut self, token: u32) -> Result<(), MaskError> {
            if token < self.0 { Ok(()) } else { Err(MaskError::Refused(token)) }
        }
    }
    let masked = GenerationRequest { mask: Some(Box::new(Below(6))), ..request([1], 9) };
    let (accepted, steps) = accept(masked, &[5, 6, 7]);
    assert_eq!(accepted, Err(MaskError::Refused(6).into()));
    assert_eq!(ids(&steps[0]), [5]);
}

//! Log-probabilities of prompts: what is computed for them, and what isn't.

use super::fake::{POISON, Rig, alone, request, shape};
use crate::error::{GenerationError, SubmitError};
use crate::generation::{Engine, Finish, GenerationRequest};
use crate::local::LocalEngine;
use crate::options::LocalOptions;
use crate::runner::{Runner, RunnerShape, SampleError};
use crate::tests::fake::FakeRunner;

fn prompt(length: u32) -> Vec<u32> {
    (0..length).map(|at| at * 7 % 37).collect()
}

fn scored(length: u32, max_tokens: usize) -> GenerationRequest {
    GenerationRequest { prompt_logprobs: Some(2), ..request(prompt(length), max_tokens) }
}

#[test]
fn scored_tokens_fill_runner_rows_and_no_other_logits() {
    let mut rig = Rig::new(RunnerShape { score_rows: 4, ..shape(100, 4) }, LocalOptions::default());
    let mut client = rig.submit(scored(14, 1));
    let mut plain = rig.submit(request(prompt(9), 3));
    let batch = rig.scheduler.schedule().expect("a step").clone();
    // Four rows of the scored prompt, and the last one of the other.
    assert_eq!((batch.tokens.len(), batch.logit_rows.len()), (4 + 9, 5));
    rig.runner.forward(&batch).unwrap();
    rig.run();
    client.read(usize::MAX);
    plain.read(usize::MAX);
    client.check_scores(&prompt(14), Some(2));
    assert_eq!(client.tokens, alone(&request(prompt(14), 1)));
    assert_eq!((plain.tokens, plain.scored.len()), (alone(&request(prompt(9), 3)), 0));
}

#[test]
fn prompt_only_scored_ends_without_computing_its_last() {
    let mut rig = Rig::new(shape(100, 4), LocalOptions::default());
    let mut client = rig.submit(scored(14, 0));
    rig.run();
    client.read(usize::MAX);
    client.check_scores(&prompt(14), Some(2));
    assert_eq!((client.tokens.len(), client.finish, rig.runner.computed), (0, Some(Finish::Length), 13));
    let stats = rig.scheduler.stats();
    assert_eq!((stats.generated_tokens, stats.free_blocks), (0, stats.total_blocks));
}

#[test]
fn cached_prompt_is_scored_whole_and_stays_cached() {
    let mut rig = Rig::new(shape(100, 4), LocalOptions::default());
    let visits = [(request(prompt(14), 2), 0), (scored(14, 2), 0), (request(prompt(14), 2), 12)];
    for (asked, cached) in visits {
        let top = asked.prompt_logprobs;
        let mut client = rig.submit(asked);
        rig.run();
        client.read(usize::MAX);
        client.check_scores(&prompt(14), top);
        assert_eq!((client.cached, client.tokens), (cached, alone(&request(prompt(14), 2))));
    }
}

#[test]
fn nan_logits_fail_the_sequence_that_asks_for_scores() {
    let mut rig = Rig::new(shape(100, 4), LocalOptions::default());
    let poisoned = GenerationRequest { prompt_logprobs: Some(0), ..request([1, POISON, 2], 1) };
    let mut bad = rig.submit(poisoned);
    let mut good = rig.submit(scored(5, 1));
    rig.run();
    bad.read(usize::MAX);
    good.read(usize::MAX);
    let failed = matches!(
        bad.finish,
        Some(Finish::Error(GenerationError::Sample(SampleError::NotANumber { position: 2, .. })))
    );
    assert!(failed && good.finish == Some(Finish::Length), "{:?}", bad.finish);
}

#[test]
fn an_engine_without_rows_for_it_refuses_by_name() {
    let start = |score_rows| {
        let runner = FakeRunner::new(RunnerShape { score_rows, ..shape(100, 4) });
        LocalEngine::start(Box::new(runner), LocalOptions::default())
    };
    let refusal = start(0).submit(scored(5, 1)).err();
    assert!(matches!(refusal, Some(SubmitError::Unsupported { field: "echo", .. })), "{refusal:?}");
    let engine = start(1);
    let context = engine.info().context;
    let whole = u32::try_from(context).unwrap();
    // A prompt that is scored only may fill the context.
    assert!(engine.submit(scored(whole, 0)).is_ok());
    let too_long = Some(SubmitError::PromptLength { tokens: context, context });
    assert_eq!(engine.submit(scored(whole, 1)).err(), too_long);
}

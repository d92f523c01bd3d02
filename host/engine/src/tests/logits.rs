//! Logits processors against a plain reference: the whole vocabulary, token by token, counted anew
//! each time.

use proptest::prelude::*;

use super::fake::{Rig, VOCAB, alone, sampled, shape};
use crate::cpu::Sampler;
use crate::generation::{Finish, GenerationRequest};
use crate::logits::{LogitsProcessors, LogitsState};
use crate::options::LocalOptions;
use crate::runner::Draw;
use crate::token::SamplingParams;

/// Logit of one token as defined, in the order of the definitions: banned, biased, penalised.
fn processed(logit: f32, id: u32, asked: &LogitsProcessors, prompt: &[u32], output: &[u32]) -> f32 {
    let is_banned = |sequence: &Vec<u32>| {
        let before = sequence.len() - 1;
        sequence[before] == id
            && output.len() >= before
            && output[output.len() - before..] == sequence[..before]
    };
    let is_early_end = output.len() < asked.min_tokens && asked.ends.contains(&id);
    if is_early_end || asked.banned.iter().any(is_banned) {
        return f32::NEG_INFINITY;
    }
    let bias: f32 = asked.bias.iter().filter(|(biased, _)| *biased == id).map(|(_, bias)| bias).sum();
    let mut logit = logit + bias;
    if prompt.contains(&id) || output.contains(&id) {
        logit = if logit > 0.0 { logit / asked.repetition } else { logit * asked.repetition };
    }
    let count = output.iter().filter(|token| **token == id).fold(0.0, |count, _| count + 1.0);
    if count > 0.0 {
        logit -= asked.frequency * count + asked.presence;
    }
    logit
}

fn processors() -> impl Strategy<Value = LogitsProcessors> {
    let neutral_or = |range: std::ops::Range<f32>, neutral: f32| prop_oneof![1 => Just(neutral), 2 => range];
    let sequence = prop::collection::vec(0..VOCAB, 1..4);
    (
        neutral_or(-2.0..2.0, 0.0),
        neutral_or(-2.0..2.0, 0.0),
        neutral_or(0.1..3.0, 1.0),
        prop::collection::btree_map(0..VOCAB, -100.0f32..100.0, 0..6),
        prop::collection::vec(sequence, 0..8),
        (0..60usize, prop::collection::vec(0..VOCAB, 0..3)),
    )
        .prop_map(|(presence, frequency, repetition, bias, banned, (min_tokens, ends))| {
            LogitsProcessors {
                presence,
                frequency,
                repetition,
                bias: bias.into_iter().collect(),
                banned,
                min_tokens,
                ends,
            }
        })
}

fn logits() -> impl Strategy<Value = Vec<f32>> {
    let logit = prop_oneof![8 => -9.0f32..9.0, 1 => Just(f32::NEG_INFINITY)];
    prop::collection::vec(logit, VOCAB as usize)
}

/// Token sequences over few ids, so that tokens repeat.
fn tokens() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(prop_oneof![3 => 0..5u32, 1 => 0..VOCAB], 1..60)
}

proptest! {
    #[test]
    fn logits_are_changed_as_the_definitions_say(
        asked in processors(), logits in logits(), tokens in tokens(), prompt: prop::sample::Index,
    ) {
        let prompt = 1 + prompt.index(tokens.len());
        let mut logits_state = LogitsState::new(asked.clone(), prompt);
        // Counted as the sequence grows, as the engine does it.
        for end in prompt..=tokens.len() {
            let mut row = logits.clone();
            if let Some(logits_state) = &mut logits_state {
                let mut edits = Vec::new();
                // Drafts that were not accepted leave no trace.
                let drafted = &tokens[..(end + 3).min(tokens.len())];
                logits_state.push_edits(drafted, 0, &mut edits);
                logits_state.rollback(drafted, end);
                edits.clear();
                logits_state.push_edits(&tokens[..end], 5, &mut edits);
                prop_assert!(edits.is_sorted_by(|a, b| (a.row, a.id) < (5, b.id)));
                for edit in edits {
                    row[edit.id as usize] = edit.apply(row[edit.id as usize]);
                }
            }
            let (prompt, output) = tokens[..end].split_at(prompt);
            for (id, logit) in (0..).zip(&logits) {
                let expected = processed(*logit, id, &asked, prompt, output);
                // Bit by bit: the order of operations is the definition's.
                prop_assert_eq!(row[id as usize].to_bits(), expected.to_bits(), "token {} at {}", id, end);
            }
        }
    }

    #[test]
    fn min_p_bars_unlikely_tokens_and_never_the_likeliest(
        logits in logits(), temperature in 0.1f32..3.0, min_p in 0.01f32..=1.0, top_k in 0..50u32, seed: u64,
    ) {
        let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        prop_assume!(max > f32::NEG_INFINITY);
        let sampling = SamplingParams { temperature, top_p: 1.0, top_k, min_p, seed };
        let draw = Draw { sampling, position: 3, top_logprobs: None };
        let id = Sampler::default().next(&logits, &draw, None, &[]).unwrap().id;
        let share = ((logits[id as usize] - max) / temperature).exp();
        prop_assert!(share >= min_p, "{} is less than {}", share, min_p);
    }
}

fn processed_request(n: u32) -> GenerationRequest {
    let asked = LogitsProcessors {
        presence: 0.7,
        frequency: 0.4,
        repetition: 1.3,
        bias: vec![(n % 39, 3.0), (38, -100.0)],
        banned: vec![vec![n % 7], vec![1, 2], vec![n % 39, 3, 4]],
        min_tokens: 20,
        ends: vec![9, 10, 11],
    };
    let prompt: Vec<u32> = (0..10).map(|at| (at * 7 + n * 13) % 39).collect();
    GenerationRequest { processors: asked, ..sampled(prompt, 40, 7) }
}

#[test]
fn processed_tokens_ignore_batch_and_preemption() {
    let mut rig =
        Rig::new(shape(20, 4), LocalOptions { batch_tokens: 16, sequences: 8, ..LocalOptions::default() });
    let mut clients: Vec<_> = (0..6).map(|n| rig.submit(processed_request(n))).collect();
    rig.run();
    assert!(rig.scheduler.stats().preemptions > 0);
    for (client, n) in clients.iter_mut().zip(0..) {
        client.read(usize::MAX);
        let request = processed_request(n);
        assert_eq!(client.tokens, alone(&request), "sequence {n}");
        assert_eq!(client.finish, Some(Finish::Length));
        assert!(!client.tokens.contains(&(n % 7)), "a banned token came");
        assert!(!client.tokens[..20].iter().any(|id| (9..12).contains(id)), "an end came too early");
        let plain = GenerationRequest { processors: LogitsProcessors::default(), ..processed_request(n) };
        assert_ne!(client.tokens, alone(&plain), "nothing was changed");
    }
}

#[test]
fn sequence_with_every_token_banned_fails_alone() {
    let mut rig = Rig::new(shape(100, 4), LocalOptions::default());
    let banned = (0..VOCAB).map(|id| vec![id]).collect();
    let all = LogitsProcessors { banned, ..LogitsProcessors::default() };
    let mut barred = rig.submit(GenerationRequest { processors: all, ..sampled([1], 5, 1) });
    let mut free = rig.submit(sampled([1], 5, 1));
    rig.run();
    barred.read(usize::MAX);
    free.read(usize::MAX);
    assert!(
        matches!(&barred.finish, Some(Finish::Error(why)) if why.to_string() == "no token may come at position 1"),
        "{:?}",
        barred.finish
    );
    assert_eq!(free.finish, Some(Finish::Length));
}

#[test]
fn a_begun_output_goes_on_as_it_would_have() {
    for (n, begun) in (0..6).zip([1, 5, 8, 19, 20, 39]) {
        let straight = alone(&processed_request(n));
        let request = GenerationRequest {
            begun: straight[..begun].to_vec(),
            max_tokens: 40 - begun,
            ..processed_request(n)
        };
        let options = LocalOptions { batch_tokens: 16, ..LocalOptions::default() };
        let mut rig = Rig::new(shape(20, 4), options);
        let mut client = rig.submit(request);
        rig.run();
        client.read(usize::MAX);
        assert_eq!(client.tokens, straight[begun..], "behind {begun} tokens");
        assert_eq!(client.finish, Some(Finish::Length));
    }
}

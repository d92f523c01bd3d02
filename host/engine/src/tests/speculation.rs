//! Drafts: the same tokens as without them, in fewer steps.

use super::fake::{Client, POISON, Rig, VOCAB, alone, request, sampled, shape};
use super::masks::{NoTwins, words};
use crate::generation::{Finish, GenerationRequest};
use crate::info::EngineStats;
use crate::logits::LogitsProcessors;
use crate::options::LocalOptions;
use crate::runner::{Runner, RunnerShape};
use crate::speculation::SpeculationOptions;

fn rig(blocks: usize, ahead: usize, speculation: SpeculationOptions) -> Rig {
    let options = LocalOptions { batch_tokens: 24, sequences: 8, speculation, ..LocalOptions::default() };
    Rig::new(RunnerShape { ahead, ..shape(blocks, 4) }, options)
}

fn masked(mask: NoTwins, request: GenerationRequest) -> GenerationRequest {
    GenerationRequest { mask: Some(Box::new(mask)), ..request }
}

/// Every kind of request, so many that they preempt each other.
fn requests() -> Vec<GenerationRequest> {
    let kinds = (0..16).map(|n: u32| {
        let prompt: Vec<u32> = (0..9 + n % 3).map(|at| (at * 7 + n * 13) % 38).collect();
        let processors = words(1 + n % 4);
        let few = GenerationRequest { processors: processors.clone(), ..sampled(prompt, 40, n.into()) };
        let able = NoTwins { can_rollback: true, ..NoTwins::default() };
        let lost = NoTwins { can_rollback: true, fails_at: Some(17), ..NoTwins::default() };
        let wrong = NoTwins { can_rollback: true, expects: vec![4, 3, 4, 3], ..NoTwins::default() };
        let penalties = LogitsProcessors {
            presence: 3.7,
            frequency: 9.3,
            repetition: 1.2,
            banned: vec![vec![3, 4], vec![5, 3, 3]],
            ..processors.clone()
        };
        match n {
            0..4 => few,
            4..6 => GenerationRequest { sampling: crate::SamplingParams::GREEDY, ..few },
            6..9 => GenerationRequest { processors: penalties, ..few },
            9 => masked(NoTwins::default(), few),
            10 => masked(able, few),
            11 => masked(lost, few),
            12 => masked(wrong, few),
            13 => GenerationRequest { stop_ids: (5..VOCAB).step_by(9).collect(), ..few },
            14 => GenerationRequest { top_logprobs: Some(2), queue: 2, ..few },
            _ => GenerationRequest { processors: LogitsProcessors::default(), ..few },
        }
    });
    kinds.collect()
}

type Answer = (Vec<u32>, Option<Finish>);

/// All answers, for clients that read after every round, and the engine's figures.
fn answers(mut rig: Rig, requests: Vec<GenerationRequest>) -> (Vec<Answer>, EngineStats) {
    let mut clients: Vec<Client> = requests.into_iter().map(|request| rig.submit(request)).collect();
    while clients.iter().any(|client| client.finish.is_none()) {
        assert!(rig.step().is_some(), "nobody goes on");
        for client in &mut clients {
            client.read(usize::MAX);
        }
    }
    rig.run();
    let stats = rig.scheduler.stats();
    assert_eq!((stats.free_blocks, stats.running, stats.waiting), (stats.total_blocks, 0, 0));
    (clients.into_iter().map(|client| (client.tokens, client.finish)).collect(), stats)
}

#[test]
fn drafts_change_nobodys_tokens() {
    let drafts = [(1, 99), (4, 9), (8, 16), (30, 99)];
    let drafts = drafts.map(|(draft_tokens, decode_rows)| SpeculationOptions { draft_tokens, decode_rows });
    for (blocks, ahead) in [(20, 0), (30, 1), (400, 0), (400, 1)] {
        let (expected, plain) = answers(rig(blocks, ahead, SpeculationOptions::OFF), requests());
        assert_eq!((plain.drafted_tokens, plain.preemptions > 0), (0, blocks < 400));
        assert!(matches!(&expected[11], (tokens, Some(Finish::Error(_))) if tokens.len() == 17));
        for options in drafts {
            let (found, stats) = answers(rig(blocks, ahead, options), requests());
            assert_eq!(found, expected, "{options:?}, {blocks} blocks, {ahead} ahead");
            assert!(stats.drafted_tokens > stats.accepted_tokens && stats.accepted_tokens > 10, "{stats:?}");
            assert_eq!(stats.generated_tokens, plain.generated_tokens);
        }
    }
}

#[test]
fn sequence_alone_takes_a_step_per_unaccepted_token() {
    for (count, most_steps) in [(1, 20), (2, 80)] {
        let ask = || GenerationRequest { processors: words(count), ..sampled([1, 2], 90, 5) };
        let (found, stats) = answers(rig(100, 0, SpeculationOptions::default()), vec![ask()]);
        assert_eq!(found, [(alone(&ask()), Some(Finish::Length))]);
        assert_eq!(stats.steps + stats.accepted_tokens, 90);
        assert!(stats.steps < most_steps, "{stats:?}");
    }
}

#[test]
fn drafts_of_text_that_does_not_repeat_are_given_up() {
    let ask = || sampled([1, 2], 190, 5);
    let (_, stats) = answers(rig(100, 0, SpeculationOptions::default()), vec![ask()]);
    assert!(stats.drafted_tokens < 30, "{stats:?}");
}

#[test]
fn masks_draft_what_they_expect_if_they_can_roll_back() {
    let script = |expects: &[u32], can_rollback| {
        let mask = NoTwins { can_rollback, expects: expects.to_vec(), ..NoTwins::default() };
        // With two different tokens, none twice in a row, each follows the other.
        let ask = GenerationRequest { processors: words(2), ..sampled([1, 2], 41, 5) };
        answers(rig(100, 0, SpeculationOptions::default()), vec![masked(mask, ask)])
    };
    let (plain, stats) = script(&[], false);
    assert_eq!((stats.steps, stats.drafted_tokens), (41, 0));
    let (found, stats) = script(&[3, 4, 3, 4], true);
    assert_eq!(found, plain);
    assert_eq!(stats.steps + stats.accepted_tokens, 41);
    assert!(stats.accepted_tokens > 20, "{stats:?}");
}

#[test]
fn a_draft_whose_logits_are_not_numbers_is_no_error() {
    let prompt: Vec<u32> = [3, 3, 3, POISON].repeat(5);
    let ask = || GenerationRequest { processors: words(1), ..request([&prompt[..], &[8]].concat(), 20) };
    let (found, stats) = answers(rig(100, 0, SpeculationOptions::default()), vec![ask()]);
    assert_eq!(found, [(vec![3; 20], Some(Finish::Length))]);
    assert!(stats.drafted_tokens > stats.accepted_tokens, "the poisoned token was drafted");
}

#[test]
fn queue_places_are_steps_not_tokens() {
    let mut rig = rig(100, 0, SpeculationOptions::default());
    let ask = || GenerationRequest { processors: words(1), queue: 9, ..request([3, 3, 3], 90) };
    let mut client = rig.submit(ask());
    assert_eq!(rig.run(), 9);
    assert_eq!((client.read(99), client.tokens.len() > 30), (9, true));
    rig.run();
    client.read(99);
    assert_eq!((client.tokens, client.finish), (alone(&ask()), Some(Finish::Length)));
}

#[test]
fn drafts_take_only_rows_left_by_all_who_decode() {
    let speculation = SpeculationOptions { draft_tokens: 8, decode_rows: 7 };
    let mut rig = rig(400, 0, speculation);
    let ask = || GenerationRequest { processors: words(1), ..request([3; 12], 60) };
    let clients: Vec<_> = (0..5).map(|_| rig.submit(ask())).collect();
    let (mut full, mut behind_prompts) = (0, 0);
    let mut late = Vec::new();
    while let Some(batch) = rig.scheduler.schedule() {
        assert!(batch.tokens.len() <= 24);
        let prompts = batch.context_lens.iter().filter(|length| **length <= 12).count();
        // The last row of the long prompt doesn't belong to the decoding sequences.
        let decoding = batch.logit_rows.len() - usize::from(batch.context_lens.contains(&90));
        assert!(prompts > 0 || decoding <= 7, "{decoding} rows");
        full += usize::from(prompts == 0 && decoding == 7);
        behind_prompts += usize::from(decoding == 7 && batch.tokens.len() == 24);
        rig.runner.forward(batch).unwrap();
        rig.runner.sample(&rig.scheduler.draws()).unwrap();
        rig.scheduler.retire(rig.runner.collect().unwrap()).unwrap();
        if full == 2 && late.is_empty() {
            late.push(rig.submit(request([9; 90], 1)));
        }
    }
    assert!(full > 2 && behind_prompts > 2, "{full} full steps, {behind_prompts} with a prompt behind");
    drop((clients, late));
}

#[test]
fn drafts_take_no_block_that_another_sequence_needs() {
    let ask = |id| GenerationRequest { processors: words(1), ..request([id, 3, 3, 3], 60) };
    // Three answers take 48 blocks.
    for blocks in 16..49 {
        let run = |speculation| answers(rig(blocks, 0, speculation), vec![ask(1), ask(2), ask(4)]);
        let (found, stats) = run(SpeculationOptions { draft_tokens: 30, decode_rows: 99 });
        assert_eq!(found, [1, 2, 4].map(|id| (alone(&ask(id)), Some(Finish::Length))));
        let (_, plain) = run(SpeculationOptions::OFF);
        assert!(stats.preemptions <= plain.preemptions, "with {blocks} blocks: {stats:?}");
        assert!(stats.accepted_tokens > 10, "{stats:?}");
    }
}

#[test]
fn draft_without_a_block_is_dropped_not_preempting() {
    let ask = |id| GenerationRequest { processors: words(1), ..request([id, 3, 3, 3], 160) };
    let mut tight = 0;
    for (blocks, draft_tokens) in (42..82).flat_map(|blocks| [(blocks, 12), (blocks, 30)]) {
        let mut rig = rig(blocks, 0, SpeculationOptions { draft_tokens, decode_rows: 99 });
        let mut clients = [rig.submit(ask(1)), rig.submit(ask(2))];
        while clients.iter().any(|client| client.finish.is_none()) {
            let before = rig.scheduler.stats();
            assert!(rig.step().is_some() && before.steps < 1000, "{blocks} blocks: {before:?}");
            let after = rig.scheduler.stats();
            // Each sequence has a block for its next token, so only drafts can lack one. A draft
            // may take blocks that are free beyond.
            if before.free_blocks >= 2 {
                assert_eq!(after.preemptions, before.preemptions, "{blocks} blocks: {before:?}");
                tight += usize::from(before.running == 2 && before.free_blocks < 2 * draft_tokens / 4);
            }
            for client in &mut clients {
                client.read(99);
            }
        }
        for (client, id) in clients.into_iter().zip([1, 2]) {
            assert_eq!(client.tokens, alone(&ask(id)));
        }
    }
    assert!(tight > 50, "{tight} steps in which drafts could want more than there was");
}

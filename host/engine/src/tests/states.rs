//! Layers that keep states: what sequences go on from, and how much they compute again.

use super::fake::{Rig, alone, alone_under, request, sampled, shape};
use super::masks::{NoTwins, words};
use crate::generation::{GenerationRequest, TokenMask};
use crate::options::LocalOptions;
use crate::runner::{RunnerShape, StatesShape};
use crate::scheduler::{ANSWER_TOKENS, END_MARGIN};
use crate::speculation::SpeculationOptions;

const BLOCK: usize = 4;

/// Without drafts, whose rows would be counted, too.
fn options() -> LocalOptions {
    LocalOptions { speculation: SpeculationOptions::OFF, ..LocalOptions::default() }
}

/// A runner with room for `lanes` sequences, and this many snapshots.
fn rig(lanes: usize, snapshots: usize, options: LocalOptions) -> Rig {
    let states = Some(StatesShape { snapshots, tentative: 9 });
    Rig::new(RunnerShape { context: 3000, states, lanes, ..shape(1500, BLOCK) }, options)
}

fn prompt(length: u32, salt: u32) -> Vec<u32> {
    (0..length).map(|at| (at * 7 + at / 11 + salt * 13) % 38).collect()
}

/// Runs a request to its end. Returns its answer, and the tokens that were computed for it.
fn run(rig: &mut Rig, request: GenerationRequest) -> (Vec<u32>, usize) {
    let before = rig.runner.computed;
    let wanted = alone(&request);
    let mut client = rig.submit(GenerationRequest { queue: 1000, ..request });
    while rig.step().is_some() {
        rig.scheduler.audit();
    }
    client.read(usize::MAX);
    assert_eq!(client.tokens, wanted);
    (client.tokens, rig.runner.computed - before)
}

#[test]
fn growing_conversations_compute_their_own_tokens() {
    let mut rig = rig(2, 4, options());
    let (mut history, mut most) = (Vec::new(), 0);
    for turn in 0..20 {
        let asked = prompt(30 + turn % 3, turn);
        let length = 50 + 7 * (turn as usize % 4);
        history.extend(&asked);
        let (answer, computed) = run(&mut rig, request(history.clone(), length));
        history.extend(answer);
        most = most.max(computed.saturating_sub(asked.len() + length));
    }
    assert!(history.len() > 1700, "{} tokens", history.len());
    // What the last turn computed behind the last snapshot, which is of its answer or of its prompt.
    let bound = ANSWER_TOKENS.max(END_MARGIN + BLOCK + 71);
    assert!(most <= bound, "{most} tokens of earlier turns were computed again");
    assert!(most > 0, "a snapshot lies before the end");
}

#[test]
fn prompts_share_a_beginning_from_the_third_on() {
    let mut rig = rig(2, 6, options());
    let asks = |salt| [prompt(200, 0), prompt(20, salt)].concat();
    let computed: Vec<usize> = (1..5).map(|salt| run(&mut rig, request(asks(salt), 3)).1).collect();
    // The second finds blocks of the beginning, and no snapshot; it saves one where it departs.
    assert_eq!(computed, [222, 222, 22, 22]);
}

#[test]
fn same_prompt_again_goes_on_near_its_end() {
    let mut rig = rig(2, 4, options());
    let (_, first) = run(&mut rig, request(prompt(100, 1), 5));
    let (_, again) = run(&mut rig, request(prompt(100, 1), 5));
    assert_eq!((first, again), (104, 104 - (100 - END_MARGIN) / BLOCK * BLOCK));
}

#[test]
fn without_a_prefix_cache_nothing_is_saved() {
    let mut rig = rig(2, 4, LocalOptions { prefix_cache: false, ..options() });
    for _ in 0..2 {
        assert_eq!(run(&mut rig, request(prompt(100, 1), 100)).1, 199);
    }
}

#[test]
fn preempted_answers_go_on_from_their_snapshots() {
    let states = Some(StatesShape { snapshots: 8, tentative: 9 });
    let shape = RunnerShape { states, lanes: 4, context: 400, ..shape(130, BLOCK) };
    let mut rig = Rig::new(shape, LocalOptions { batch_tokens: 64, ..options() });
    let asks = |salt| GenerationRequest { queue: 1000, ..sampled(prompt(20, salt), 200, salt.into()) };
    let mut clients: Vec<_> = (0..4).map(|salt| rig.submit(asks(salt))).collect();
    while rig.step().is_some() {
        rig.scheduler.audit();
    }
    for (client, salt) in clients.iter_mut().zip(0..) {
        client.read(usize::MAX);
        assert_eq!(client.tokens, alone(&asks(salt)));
    }
    let preemptions = usize::try_from(rig.scheduler.stats().preemptions).unwrap();
    let again = rig.runner.computed - 4 * 219;
    assert!(preemptions > 0 && again <= preemptions * 220, "{again} tokens for {preemptions} preemptions");
}

#[test]
fn rejected_drafts_and_late_masks_leave_states_as_they_were() {
    let mut rig = rig(4, 4, LocalOptions::default());
    let asks = |seed: u64| {
        let mask = NoTwins { can_rollback: true, late_one_in: 3, ..NoTwins::default() };
        let mut one = sampled(prompt(30, 1), 100, seed);
        one.processors = words(3);
        one.mask = seed.is_multiple_of(2).then(|| Box::new(mask) as _);
        GenerationRequest { queue: 1000, ..one }
    };
    let mut clients: Vec<_> = (0..4).map(|seed| rig.submit(asks(seed))).collect();
    while clients.iter().any(|client| client.finish.is_none()) {
        rig.step();
        rig.scheduler.audit();
        for client in &mut clients {
            client.read(usize::MAX);
        }
    }
    for (client, seed) in clients.iter().zip(0..) {
        let mut mask = NoTwins::default();
        let is_masked = asks(seed).mask.is_some();
        let wanted = alone_under(&asks(seed), is_masked.then_some(&mut mask as &mut dyn TokenMask));
        assert_eq!(client.tokens, wanted);
    }
    let stats = rig.scheduler.stats();
    assert!(stats.accepted_tokens > 0 && stats.drafted_tokens > stats.accepted_tokens, "{stats:?}");
    assert!(stats.late_masks > 0, "{stats:?}");
}

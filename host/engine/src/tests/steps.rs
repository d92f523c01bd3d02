//! The scheduler, step by step: which sequences run when, and that this changes no sequence's
//! tokens.

use super::fake::{POISON, Rig, alone, request, sampled, shape};
use crate::batch::Batch;
use crate::error::{GenerationError, MaskError, SubmitError};
use crate::generation::{Finish, GenerationRequest, TokenMask};
use crate::options::LocalOptions;
use crate::runner::{RunError, Runner, RunnerShape};
use crate::speculation::SpeculationOptions;

fn options() -> LocalOptions {
    let speculation = SpeculationOptions::OFF;
    LocalOptions { batch_tokens: 16, sequences: 8, speculation, ..LocalOptions::default() }
}

fn prompt(length: u32, salt: u32) -> Vec<u32> {
    (0..length).map(|at| (at * 7 + salt * 13) % 39).collect()
}

/// Runs requests together to the end and checks that each gets the tokens that it gets alone.
fn check_together(rig: &mut Rig, make: impl Fn() -> Vec<GenerationRequest>) {
    let mut clients: Vec<_> = make().into_iter().map(|request| rig.submit(request)).collect();
    rig.run();
    for (client, request) in clients.iter_mut().zip(make()) {
        client.read(usize::MAX);
        assert_eq!(client.tokens, alone(&request));
        assert_eq!(client.finish, Some(Finish::Length));
    }
    let stats = rig.scheduler.stats();
    assert_eq!((stats.free_blocks, stats.running, stats.waiting), (stats.total_blocks, 0, 0));
}

#[test]
fn tokens_do_not_depend_on_the_batch() {
    let mut rig = Rig::new(shape(100, 4), options());
    check_together(&mut rig, || (0..20).map(|n| sampled(prompt(n * 2 + 1, n), 20, u64::from(n))).collect());
    assert_eq!(rig.scheduler.stats().preemptions, 0);
}

#[test]
fn tokens_do_not_depend_on_preemption() {
    for prefix_cache in [true, false] {
        let mut rig = Rig::new(shape(20, 4), LocalOptions { prefix_cache, ..options() });
        check_together(&mut rig, || (0..6).map(|n| sampled(prompt(10, n), 40, 7)).collect());
        assert!(rig.scheduler.stats().preemptions > 0);
    }
}

#[test]
fn tokens_do_not_depend_on_the_prefix_cache() {
    let mut rig = Rig::new(shape(100, 4), options());
    for round in 0..3 {
        check_together(&mut rig, || (0..4).map(|n| sampled(prompt(30, n % 2), 10, u64::from(n))).collect());
        let hits = rig.scheduler.stats().prefix_hit_tokens;
        assert!(round == 0 || hits >= round * 4 * 28, "{hits} tokens were found");
    }
}

#[test]
fn a_client_learns_what_the_prefix_cache_had() {
    let mut rig = Rig::new(shape(100, 4), options());
    let mut first = rig.submit(request(prompt(9, 1), 3));
    rig.run();
    let mut again = rig.submit(request(prompt(9, 1), 3));
    rig.run();
    first.read(9);
    again.read(9);
    assert_eq!((first.cached, again.cached), (0, 8));
    assert_eq!(first.tokens, again.tokens);
}

#[test]
fn a_long_prompt_does_not_hold_up_those_who_decode() {
    let mut rig = Rig::new(shape(100, 4), options());
    let mut decoding = rig.submit(request([1, 2], 50));
    rig.step();
    let mut long = rig.submit(request(prompt(100, 3), 5));
    for at in 0..6 {
        assert_eq!(rig.step(), Some(16), "chunk {at} fills the step");
        assert_eq!(decoding.read(9), 1 + usize::from(at == 0), "and a token comes in each");
        assert_eq!(long.read(9), 0);
    }
    rig.step();
    assert_eq!(long.read(9), 1, "6 chunks of 15, then the last 10");
}

#[test]
fn one_generated_token_costs_one_computed_token() {
    let mut rig = Rig::new(shape(100, 4), options());
    rig.submit(request([1, 2, 3], 5)).leave();
    let client = rig.submit(request([1, 2, 3], 5));
    let work: Vec<_> = std::iter::from_fn(|| rig.step()).collect();
    assert_eq!(work, [3, 1, 1, 1, 1]);
    drop(client);
}

#[test]
fn oldest_begins_first_even_if_a_younger_would_fit() {
    let mut rig = Rig::new(shape(20, 4), options());
    let mut running = rig.submit(request(prompt(40, 1), 30));
    rig.step();
    let mut large = rig.submit(request(prompt(60, 2), 2));
    let mut small = rig.submit(request([1], 2));
    while running.finish.is_none() {
        rig.step();
        running.read(9);
        assert_eq!((large.read(9), small.read(9)), (0, 0));
    }
    rig.run();
    assert_eq!((large.read(9), small.read(9)), (2, 2));
    assert_eq!(rig.scheduler.stats().preemptions, 0);
}

#[test]
fn step_keeps_to_allowed_sequences_and_tokens() {
    let mut rig = Rig::new(shape(100, 4), LocalOptions { batch_tokens: 6, sequences: 3, ..options() });
    let clients: Vec<_> = (0..7).map(|n| rig.submit(request(prompt(8, n), 6))).collect();
    let within = |batch: &Batch| assert!(batch.sequences() <= 3 && batch.tokens.len() <= 6);
    while let Some(batch) = rig.scheduler.schedule() {
        within(batch);
        rig.runner.forward(batch).unwrap();
        rig.runner.sample(&rig.scheduler.draws()).unwrap();
        rig.scheduler.retire(rig.runner.collect().unwrap()).unwrap();
    }
    drop(clients);
}

#[test]
fn leaving_frees_the_blocks_at_the_next_step() {
    let mut rig = Rig::new(shape(100, 4), options());
    let mut clients: Vec<_> = (0..12).map(|n| rig.submit(request(prompt(30, n), 30))).collect();
    for _ in 0..9 {
        rig.step();
    }
    clients.iter_mut().for_each(super::fake::Client::leave);
    assert_eq!(rig.step(), None);
    let stats = rig.scheduler.stats();
    assert_eq!((stats.free_blocks, stats.waiting, stats.cancelled), (100, 0, 12));
}

#[test]
fn client_that_does_not_read_pauses_only_itself() {
    let mut rig = Rig::new(shape(100, 4), options());
    let mut slow = rig.submit(GenerationRequest { queue: 3, ..request([5], 20) });
    let mut fast = rig.submit(request([6], 20));
    assert_eq!(rig.run(), 20, "the other is done in as many steps as alone");
    fast.read(99);
    assert_eq!(fast.finish, Some(Finish::Length));
    assert_eq!(rig.scheduler.stats().paused, 1);
    assert_eq!(slow.read(99), 3);
    assert_eq!(rig.run(), 3, "and it goes on as far as there is room");
    while slow.finish.is_none() {
        slow.read(2);
        rig.run();
    }
    assert_eq!(slow.tokens, alone(&request([5], 20)));
}

#[test]
fn last_step_has_a_place_even_in_a_full_queue() {
    let mut rig = Rig::new(shape(100, 4), options());
    let mut slow = rig.submit(GenerationRequest { queue: 3, ..request([5], 20) });
    rig.run();
    let mut new = rig.submit(request([6], 20));
    rig.scheduler.end_all(&Finish::Error(GenerationError::Stopped), &Finish::Refused(SubmitError::Stopped));
    assert_eq!((slow.read(9), new.read(9)), (4, 1));
    assert_eq!(slow.finish, Some(Finish::Error(GenerationError::Stopped)));
    assert_eq!(new.finish, Some(Finish::Refused(SubmitError::Stopped)), "it never began");
}

#[test]
fn paused_sequences_yield_scarce_blocks_and_resume() {
    let mut rig = Rig::new(shape(10, 4), options());
    let ask = |salt| GenerationRequest { queue: 1, ..request(prompt(18, salt), 12) };
    let mut slow = [rig.submit(ask(1)), rig.submit(ask(2))];
    rig.run();
    assert_eq!(rig.scheduler.stats().free_blocks, 0);
    let mut other = rig.submit(request(prompt(16, 3), 20));
    rig.run();
    other.read(99);
    assert_eq!(other.tokens, alone(&request(prompt(16, 3), 20)));
    for (salt, slow) in [1, 2].into_iter().zip(&mut slow) {
        while slow.finish.is_none() {
            slow.read(1);
            rig.run();
        }
        assert_eq!(slow.tokens, alone(&ask(salt)));
    }
}

#[test]
fn waiting_paused_sequence_does_not_block_the_line() {
    let mut rig = Rig::new(shape(10, 4), options());
    let slow = rig.submit(GenerationRequest { queue: 1, ..request(prompt(30, 1), 9) });
    rig.run();
    for salt in 2..5 {
        let mut client = rig.submit(request(prompt(30, salt), 9));
        rig.run();
        client.read(99);
        assert_eq!(client.finish, Some(Finish::Length));
    }
    drop(slow);
}

#[test]
fn the_context_and_the_cache_bound_the_length() {
    for (blocks, tokens) in [(100, 200), (5, 20)] {
        let mut rig = Rig::new(shape(blocks, 4), options());
        let mut client = rig.submit(request([1, 2, 3], usize::MAX));
        rig.run();
        client.read(usize::MAX);
        assert_eq!((client.tokens.len(), client.finish), (tokens - 3, Some(Finish::Length)));
    }
}

#[test]
fn stop_id_ends_the_sequence_and_is_not_among_tokens() {
    let expected = alone(&request([4], 10));
    let at = expected.iter().position(|id| *id == expected[6]).unwrap();
    let mut rig = Rig::new(shape(100, 4), options());
    let mut client = rig.submit(GenerationRequest { stop_ids: [77, expected[6]].into(), ..request([4], 7) });
    rig.run();
    client.read(99);
    assert_eq!((&client.tokens[..], client.finish), (&expected[..at], Some(Finish::Stop(expected[6]))));
    assert_eq!(rig.scheduler.stats().generated_tokens, at as u64 + 1);
}

#[test]
fn failed_step_ends_its_own_sequences_and_no_others() {
    let mut rig = Rig::new(shape(100, 4), LocalOptions { sequences: 2, ..options() });
    rig.runner.fails_on = Some(38);
    let mut clients = [[1], [38], [2]].map(|prompt| rig.submit(request(prompt, 1)));
    rig.run();
    for client in &mut clients {
        client.read(9);
    }
    let error = Some(Finish::Error(RunError::Device("out of order".into()).into()));
    let ends = clients.map(|client| client.finish);
    assert_eq!(ends, [error.clone(), error, Some(Finish::Length)]);
    assert_eq!(rig.scheduler.stats().free_blocks, 100);
}

#[test]
fn nan_logits_end_their_own_sequence_only() {
    let mut rig = Rig::new(shape(100, 4), options());
    let mut bad = rig.submit(request([1, POISON], 5));
    let mut good = rig.submit(request([1], 5));
    rig.run();
    bad.read(9);
    good.read(9);
    assert!(matches!(bad.finish, Some(Finish::Error(text)) if text.to_string().contains("NaN")));
    assert_eq!(good.tokens, alone(&request([1], 5)));
}

#[test]
fn a_mask_that_panics_ends_its_own_sequence_only() {
    #[derive(Debug)]
    struct Broken;
    impl TokenMask for Broken {
        fn apply(&mut self, _: &mut [u32]) -> Result<(), MaskError> {
            panic!("lost the thread")
        }
        fn advance(&mut self, _: u32) -> Result<(), MaskError> {
            Ok(())
        }
    }
    let mut rig = Rig::new(shape(100, 4), options());
    let mut bad = rig.submit(GenerationRequest { mask: Some(Box::new(Broken)), ..request([1], 5) });
    let mut good = rig.submit(request([1], 5));
    rig.run();
    bad.read(9);
    good.read(9);
    assert!(matches!(bad.finish, Some(Finish::Error(text)) if text.to_string().contains("lost the thread")));
    assert_eq!(good.tokens, alone(&request([1], 5)));
}

/// A mask that allows the first `good` tokens, and then fails in one way or another.
#[derive(Debug)]
struct GivesWay {
    good: usize,
    taken: usize,
    panics: bool,
}

impl GivesWay {
    fn failed(&self) -> Result<(), MaskError> {
        assert!(!self.panics || self.taken < self.good, "lost the thread");
        if self.taken < self.good { Ok(()) } else { Err(MaskError::Unsatisfiable) }
    }
}

impl TokenMask for GivesWay {
    fn apply(&mut self, mask: &mut [u32]) -> Result<(), MaskError> {
        if self.taken >= self.good {
            mask.fill(0);
        }
        self.failed()
    }

    fn advance(&mut self, _: u32) -> Result<(), MaskError> {
        self.taken += 1;
        Ok(())
    }

    fn validate(&mut self, tokens: &[u32]) -> usize {
        tokens.len()
    }

    fn rollback(&mut self, tokens: usize) -> Result<(), MaskError> {
        self.taken -= tokens;
        Ok(())
    }

    fn gives_way(&self) -> bool {
        true
    }
}

#[test]
fn sequence_goes_on_where_its_failed_mask_gives_way() {
    for (good, panics) in [(0, false), (0, true), (3, false), (3, true)] {
        for ahead in [0, 1] {
            let mut rig = Rig::new(RunnerShape { ahead, ..shape(100, 4) }, LocalOptions::default());
            let mask = Box::new(GivesWay { good, taken: 0, panics });
            let mut one = rig.submit(GenerationRequest { mask: Some(mask), ..request([1], 9) });
            rig.run();
            one.read(99);
            assert_eq!((one.tokens, one.finish), (alone(&request([1], 9)), Some(Finish::Length)));
            assert_eq!(rig.scheduler.stats().lost_masks, 1, "{good} {panics} {ahead}");
        }
    }
}

//! A runner that is one step ahead: the same tokens as without, whatever ends or is preempted while
//! a step is under way.

use std::collections::BTreeSet;

use super::fake::{Client, Rig, VOCAB, alone, request, sampled, shape};
use crate::error::{GenerationError, MaskError};
use crate::generation::{Finish, GenerationRequest, TokenMask};
use crate::logits::LogitsProcessors;
use crate::options::LocalOptions;
use crate::runner::{RunError, RunnerShape};
use crate::speculation::SpeculationOptions;

fn rig(blocks: usize, ahead: usize) -> Rig {
    let speculation = SpeculationOptions::OFF;
    let options = LocalOptions { batch_tokens: 16, sequences: 8, speculation, ..LocalOptions::default() };
    Rig::new(RunnerShape { ahead, ..shape(blocks, 4) }, options)
}

/// Mask that allows each token once: it must be advanced by a token before it is applied for the
/// next one.
#[derive(Debug, Default)]
struct Once(BTreeSet<u32>);

impl TokenMask for Once {
    fn apply(&mut self, mask: &mut [u32]) -> Result<(), MaskError> {
        self.0.iter().for_each(|id| mask[*id as usize / 32] &= !(1 << (id % 32)));
        Ok(())
    }

    fn advance(&mut self, token: u32) -> Result<(), MaskError> {
        if self.0.insert(token) { Ok(()) } else { Err(MaskError::Refused(token)) }
    }
}

/// Every kind of request, so many that they preempt each other.
fn requests() -> Vec<GenerationRequest> {
    let prompt = |n: u32| (0..9 + n % 3).map(|at| (at * 7 + n * 13) % 38).collect::<Vec<_>>();
    let processors = LogitsProcessors {
        presence: 0.7,
        repetition: 1.2,
        banned: vec![vec![3]],
        ..LogitsProcessors::default()
    };
    let kinds = (0..12).map(|n| {
        let plain = sampled(prompt(n), 30, n.into());
        match n % 4 {
            0 => plain,
            1 => GenerationRequest { processors: processors.clone(), ..plain },
            2 => GenerationRequest { mask: Some(Box::<Once>::default()), ..plain },
            _ => GenerationRequest { stop_ids: (0..VOCAB).step_by(9).collect(), queue: 2, ..plain },
        }
    });
    kinds.collect()
}

type Answer = (Vec<u32>, Option<Finish>);

/// All answers, for clients that read after every round.
fn answers(rig: &mut Rig) -> Vec<Answer> {
    let mut clients: Vec<Client> = requests().into_iter().map(|request| rig.submit(request)).collect();
    while clients.iter().any(|client| client.finish.is_none()) {
        rig.step();
        for client in &mut clients {
            client.read(usize::MAX);
        }
    }
    rig.run();
    let stats = rig.scheduler.stats();
    assert_eq!((stats.free_blocks, stats.running, stats.waiting), (stats.total_blocks, 0, 0));
    clients.into_iter().map(|client| (client.tokens, client.finish)).collect()
}

#[test]
fn one_step_ahead_gives_everyone_the_same_tokens() {
    for blocks in [12, 15, 20, 200] {
        let (mut plain, mut ahead) = (rig(blocks, 0), rig(blocks, 1));
        assert_eq!(answers(&mut plain), answers(&mut ahead), "{blocks} blocks");
        assert_eq!(ahead.scheduler.stats().preemptions > 0, blocks < 200);
        assert_eq!(plain.runner.overlapped, 0);
    }
}

#[test]
fn step_begins_before_the_previous_one_is_collected() {
    let mut rig = rig(100, 1);
    let mut client = rig.submit(request([1, 2, 3], 20));
    rig.run();
    client.read(usize::MAX);
    assert_eq!(client.tokens, alone(&request([1, 2, 3], 20)));
    // The end at `max_tokens` is known before: no row is computed in vain.
    assert_eq!((rig.runner.overlapped, rig.runner.computed), (19, 3 + 19));
}

#[test]
fn unforeseen_stop_costs_one_row_that_nobody_reads() {
    let expected = alone(&request([4], 10));
    let at = expected.iter().position(|id| *id == expected[6]).unwrap();
    let mut rig = rig(100, 1);
    let mut client = rig.submit(GenerationRequest { stop_ids: [expected[6]].into(), ..request([4], 10) });
    rig.run();
    client.read(usize::MAX);
    assert_eq!((&client.tokens[..], client.finish), (&expected[..at], Some(Finish::Stop(expected[6]))));
    assert_eq!(rig.runner.computed, 1 + at + 1);
    assert_eq!(rig.scheduler.stats().free_blocks, 100);
}

#[test]
fn a_step_that_fails_ends_the_one_before_it_too() {
    let mut rig = rig(100, 1);
    let mut in_flight = rig.submit(request([1], 20));
    rig.step();
    let mut broken = rig.submit(request([38], 20));
    rig.runner.fails_on = Some(38);
    rig.run();
    for client in [&mut in_flight, &mut broken] {
        client.read(usize::MAX);
        let error = GenerationError::Run(RunError::Device("out of order".into()));
        assert_eq!(client.finish, Some(Finish::Error(error)));
    }
    assert_eq!(rig.scheduler.stats().free_blocks, 100);
    rig.runner.fails_on = None;
    let mut next = rig.submit(request([1], 5));
    rig.run();
    next.read(usize::MAX);
    assert_eq!(next.tokens, alone(&request([1], 5)));
}

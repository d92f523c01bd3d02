//! Slots and KV blocks shared by principals: who holds most gives way to who holds less, never back
//! and forth, and no token changes.

use super::fake::{Client, Rig, alone, sampled, shape};
use crate::generation::{Finish, GenerationRequest};
use crate::options::LocalOptions;
use crate::speculation::SpeculationOptions;

const SLOTS: usize = 6;

fn rig(blocks: usize) -> Rig {
    let speculation = SpeculationOptions::OFF;
    let options = LocalOptions { batch_tokens: 24, sequences: SLOTS, speculation, ..LocalOptions::default() };
    Rig::new(shape(blocks, 4), options)
}

/// A request of a principal, with a prompt of its own.
fn ask(principal: u64, number: u64, prompt: u32, tokens: usize) -> GenerationRequest {
    let first = u32::try_from(number % 37).expect("a token");
    let prompt: Vec<u32> = (0..prompt).map(|at| (first + at * 5) % 38).collect();
    GenerationRequest { principal, cache_salt: principal, ..sampled(prompt, tokens, number) }
}

/// Requests with their clients.
#[derive(Default)]
struct Answers(Vec<(GenerationRequest, Client)>);

impl Answers {
    fn submit(&mut self, rig: &mut Rig, ask: impl Fn() -> GenerationRequest) {
        self.0.push((ask(), rig.submit(ask())));
    }

    fn read(&mut self) {
        for (_, client) in &mut self.0 {
            client.read(usize::MAX);
        }
    }

    /// Runs until all have ended, each with the tokens that it gets alone.
    fn end(mut self, rig: &mut Rig) {
        while self.0.iter().any(|(_, client)| client.finish.is_none()) {
            assert!(rig.step().is_some(), "nothing goes on");
            rig.scheduler.audit();
            self.read();
        }
        for (request, client) in &self.0 {
            assert_eq!((&client.tokens, &client.finish), (&alone(request), &Some(Finish::Length)));
        }
    }
}

/// Principal 1 with a long answer in every slot and as many waiting, on a cache of `blocks` blocks.
fn occupied(blocks: usize, prompt: u32, tokens: usize) -> (Rig, Answers) {
    let mut rig = rig(blocks);
    let mut long = Answers::default();
    for number in 0..2 * SLOTS as u64 {
        long.submit(&mut rig, || ask(1, number, prompt, tokens));
    }
    for _ in 0..30 {
        rig.step();
    }
    long.read();
    (rig, long)
}

fn slots(rig: &Rig, principal: u64) -> usize {
    rig.scheduler.running().iter().filter(|one| one.principal == principal).count()
}

#[test]
fn short_request_begins_next_step_despite_held_slots() {
    let (mut rig, long) = occupied(400, 3, 120);
    assert_eq!(slots(&rig, 1), SLOTS);
    let mut short = Answers::default();
    short.submit(&mut rig, || ask(2, 50, 3, 2));
    rig.step();
    assert_eq!((slots(&rig, 1), slots(&rig, 2)), (SLOTS - 1, 1));
    rig.step();
    rig.step();
    short.read();
    assert_eq!(short.0[0].1.finish, Some(Finish::Length), "three steps for a prompt and two tokens");
    rig.step();
    assert_eq!(slots(&rig, 1), SLOTS, "who gave way has its slot again");
    assert_eq!(rig.scheduler.stats().preemptions, 1);
    short.end(&mut rig);
    long.end(&mut rig);
}

#[test]
fn short_request_begins_soon_despite_held_blocks() {
    // With 24 blocks of 4 tokens three answers run, and preempt each other.
    let (mut rig, long) = occupied(24, 8, 80);
    assert!(slots(&rig, 1) < SLOTS && rig.scheduler.stats().free_blocks < 8);
    let mut short = Answers::default();
    short.submit(&mut rig, || ask(2, 50, 30, 2));
    let mut steps = 0;
    while slots(&rig, 2) == 0 {
        rig.step();
        steps += 1;
    }
    assert!(steps <= 3, "{steps} steps");
    short.end(&mut rig);
    long.end(&mut rig);
}

#[test]
fn long_principals_come_to_equal_slots_and_stay_there() {
    let (mut rig, mut answers) = occupied(400, 3, 120);
    for number in 50..60 {
        answers.submit(&mut rig, || ask(2, number, 3, 120));
    }
    for _ in 0..SLOTS {
        rig.step();
    }
    let given_way = rig.scheduler.stats().preemptions;
    assert_eq!((slots(&rig, 1), slots(&rig, 2), given_way), (SLOTS / 2, SLOTS / 2, SLOTS as u64 / 2));
    for _ in 0..50 {
        rig.step();
    }
    assert_eq!((slots(&rig, 1), slots(&rig, 2)), (SLOTS / 2, SLOTS / 2));
    assert_eq!(rig.scheduler.stats().preemptions, given_way, "nobody gives way back");
    answers.end(&mut rig);
}

#[test]
fn lone_principal_uses_everything_and_never_yields() {
    let (mut rig, long) = occupied(400, 3, 120);
    let mut urgent = Answers::default();
    urgent.submit(&mut rig, || GenerationRequest { priority: -9, ..ask(1, 50, 3, 2) });
    for _ in 0..20 {
        rig.step();
        assert_eq!(slots(&rig, 1), SLOTS);
    }
    urgent.end(&mut rig);
    long.end(&mut rig);
    assert_eq!(rig.scheduler.stats().preemptions, 0);
}

#[test]
fn endless_short_requests_rarely_preempt_a_long_one() {
    let (mut rig, mut long) = occupied(400, 3, 120);
    let computed = |rig: &Rig| rig.runner.computed;
    let (mut number, mut waited, mut longest) = (50, 0, 0);
    let mut short = Answers::default();
    let mut epochs = std::collections::HashMap::new();
    let before = computed(&rig);
    while long.0.iter().any(|(_, client)| client.finish.is_none()) {
        if short.0.last().is_none_or(|(_, client)| client.finish.is_some()) {
            short.submit(&mut rig, || ask(2, number, 3, 2));
            (number, waited) = (number + 1, 0);
        }
        rig.step();
        rig.scheduler.audit();
        waited += usize::from(slots(&rig, 2) == 0);
        longest = longest.max(waited);
        for one in rig.scheduler.running().iter().filter(|one| one.principal == 1) {
            epochs.insert(one.admission, one.block_epoch);
        }
        short.read();
        long.read();
    }
    // Answers double between two preemptions, from 16 tokens on: 16, 32, 64, 120.
    assert!(epochs.values().all(|epoch| *epoch <= 1 + 5), "{epochs:?}");
    let short_ones = number - 50;
    assert!(short_ones >= 35 && longest < 40, "{short_ones} short requests waited for up to {longest} steps");
    // What is computed again is less than what is computed.
    let needed = 2 * SLOTS * 123 + usize::try_from(number).unwrap() * 5;
    assert!(computed(&rig) - before < 2 * needed, "{} for {needed}", computed(&rig) - before);
    short.end(&mut rig);
    long.end(&mut rig);
}

#[test]
fn principals_take_turns_where_decodes_exceed_slots() {
    let mut rig = rig(400);
    let mut paused = Answers::default();
    for number in 0..SLOTS as u64 {
        paused.submit(&mut rig, || GenerationRequest { queue: 2, ..ask(1, number, 3, 60) });
    }
    // The clients of principal 1 don't read, so those of principal 2 begin beside them.
    for _ in 0..9 {
        rig.step();
    }
    let mut others = Answers::default();
    for number in 10..10 + SLOTS as u64 {
        others.submit(&mut rig, || ask(2, number, 3, 60));
    }
    for _ in 0..9 {
        rig.step();
    }
    paused.read();
    others.read();
    let tokens = |answers: &Answers| answers.0.iter().map(|(_, client)| client.tokens.len()).sum::<usize>();
    let before = (tokens(&paused), tokens(&others));
    rig.step();
    paused.read();
    others.read();
    let half = SLOTS / 2;
    assert_eq!((tokens(&paused) - before.0, tokens(&others) - before.1), (half, half));
    paused.0.extend(others.0);
    paused.end(&mut rig);
}

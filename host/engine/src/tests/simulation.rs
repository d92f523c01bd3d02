//! Ten thousand requests of every kind on a device that fails now and then: the invariants hold
//! after each step, each request gets the tokens that it gets alone (up to where its step failed),
//! and nothing is lost.

use std::collections::BTreeMap;
use std::time::Duration;

use seeded::SplitMix64;

use super::fake::{Client, Rig, alone, alone_under, sampled, shape};
use super::masks::{NoTwins, words};
use crate::error::GenerationError;
use crate::generation::{Finish, GenerationRequest, TokenMask};
use crate::options::LocalOptions;
use crate::runner::{RunError, RunnerShape, StatesShape};
use crate::speculation::SpeculationOptions;

const VISITS: u32 = 10_000;
/// Number of steps during which requests arrive: about as many as the engine needs for them.
const ARRIVING: u32 = 8_000;
/// One of this many calls of the runner fails.
const FAILS_EVERY: usize = 499;

/// Random numbers, the same in every run.
struct Random(SplitMix64);

impl Random {
    fn below(&mut self, end: u32) -> u32 {
        u32::try_from(self.0.below(end as usize)).expect("below a u32")
    }

    fn one_in(&mut self, count: u32) -> bool {
        self.below(count) == 0
    }
}

/// One request and how its client behaves.
struct Visit {
    arrival: u32,
    principal: u64,
    priority: i32,
    words: u32,
    is_masked: bool,
    /// Stop ids of the request.
    stops: Vec<u32>,
    prompt: Vec<u32>,
    tokens: usize,
    queue: usize,
    reads_every: u32,
    leaves_after: Option<u32>,
}

impl Visit {
    fn new(random: &mut Random) -> Self {
        let topic = random.below(5);
        let length = if random.one_in(40) { 60 + random.below(60) } else { 1 + random.below(24) };
        Self {
            arrival: random.below(ARRIVING),
            // Principal 0 sends half of all requests.
            principal: u64::from(random.below(8).saturating_sub(3)),
            priority: if random.one_in(10) { random.below(3).cast_signed() - 1 } else { 0 },
            words: random.below(4),
            is_masked: random.one_in(5),
            stops: if random.one_in(4) { vec![random.below(38), random.below(38)] } else { Vec::new() },
            prompt: (0..length).map(|at| (at * 5 + topic * 7) % 38).collect(),
            tokens: 1 + random.below(20) as usize,
            queue: 1 + random.below(6) as usize,
            reads_every: 1 + random.below(3),
            leaves_after: random.one_in(6).then(|| random.below(60)),
        }
    }

    /// Makes the request. Its seed is its number, by which it is found in the scheduler.
    fn request(&self, number: u64) -> GenerationRequest {
        let mask = || NoTwins {
            can_rollback: !number.is_multiple_of(3),
            expects: vec![3, 4],
            late_one_in: if number.is_multiple_of(2) { 3 } else { 0 },
            ..NoTwins::default()
        };
        let mut request = sampled(self.prompt.clone(), self.tokens, number);
        request.processors = words(self.words);
        request.mask = (self.is_masked && self.words != 1).then(|| Box::new(mask()) as _);
        GenerationRequest {
            queue: self.queue,
            priority: self.priority,
            principal: self.principal,
            cache_salt: self.principal,
            stop_ids: self.stops.clone().into(),
            ..request
        }
    }
}

/// The scheduler with all its clients.
struct Simulation {
    rig: Rig,
    visits: Vec<Visit>,
    /// Clients of the requests that have arrived and not ended, by the request's number.
    clients: BTreeMap<u64, Client>,
    /// Number of sequences known to have begun: each of them has a lower number of admission.
    admitted: u64,
    time: u32,
}

impl Simulation {
    fn arrive(&mut self) {
        let time = self.time;
        for (number, visit) in (0..).zip(&self.visits).filter(|(_, visit)| visit.arrival == time) {
            self.clients.insert(number, self.rig.submit(visit.request(number)));
        }
    }

    /// Lets clients read and leave, and removes those that have ended.
    fn read(&mut self) {
        let Self { visits, clients, time, .. } = self;
        clients.retain(|number, client| {
            let visit = &visits[usize::try_from(*number).unwrap()];
            if time.is_multiple_of(visit.reads_every) {
                client.read(2);
            }
            if visit.leaves_after == Some(*time - visit.arrival) {
                client.leave();
            }
            let ends = client.left() || client.finish.is_some();
            if ends {
                check_answer(&visit.request(*number), client);
            }
            !ends
        });
    }

    /// Checks that each sequence that began was the first of its principal, by priority and
    /// arrival, and that no waiting principal was given fewer tokens.
    fn check_order(&mut self, given: &BTreeMap<u64, u64>) {
        let running = self.rig.scheduler.running();
        let began: Vec<u64> = running
            .iter()
            .filter(|one| one.admission >= self.admitted)
            .map(|one| one.sampling.seed)
            .collect();
        self.admitted = running.last().map_or(self.admitted, |one| self.admitted.max(one.admission + 1));
        let mut firsts = BTreeMap::new();
        for one in self.rig.scheduler.queued() {
            firsts.entry(one.principal).or_insert(one.sampling.seed);
        }
        let visit = |number: u64| &self.visits[usize::try_from(number).unwrap()];
        for number in began {
            let began = visit(number);
            for (principal, first) in &firsts {
                if *principal == began.principal {
                    let order = |visit: &Visit| (visit.priority, visit.arrival);
                    assert!(order(began) <= order(visit(*first)), "{number} overtook {first}");
                }
                let had = given.get(&began.principal).copied().unwrap_or(0);
                let has = self.rig.scheduler.given(*principal);
                assert!(had <= has, "{number} began, though {principal} has had less");
            }
        }
    }

    fn step(&mut self) {
        self.rig.scheduler.set_time(Duration::from_millis(self.time.into()));
        self.arrive();
        let given = (0..8).map(|principal| (principal, self.rig.scheduler.given(principal))).collect();
        self.rig.step();
        self.rig.scheduler.audit();
        self.check_order(&given);
        self.read();
        self.time += 1;
    }
}

fn check_answer(request: &GenerationRequest, client: &Client) {
    let (tokens, end) = expected(request);
    match &client.finish {
        Some(Finish::Refused(_)) => assert!(client.tokens.is_empty()),
        None | Some(Finish::Error(GenerationError::Run(RunError::Device(_)))) => {
            assert!(tokens.starts_with(&client.tokens));
        }
        Some(finish) => assert_eq!((finish, &client.tokens), (&end, &tokens)),
    }
}

/// Tokens and finish that a request gets alone, from masks that are never late and a device that
/// doesn't fail.
fn expected(request: &GenerationRequest) -> (Vec<u32>, Finish) {
    let mut mask = NoTwins::default();
    let mut tokens = if request.mask.is_some() {
        alone_under(request, Some(&mut mask as &mut dyn TokenMask))
    } else {
        alone(request)
    };
    let end = tokens.iter().position(|id| request.stop_ids.contains(id)).map_or(Finish::Length, |at| {
        let stop = tokens[at];
        tokens.truncate(at);
        Finish::Stop(stop)
    });
    (tokens, end)
}

/// Runs all visits; panics where an invariant doesn't hold.
fn simulate(seed: u64, ahead: usize, of_layers: Option<StatesShape>) {
    let mut random = Random(SplitMix64::new(seed));
    let visits = (0..VISITS).map(|_| Visit::new(&mut random)).collect();
    let options = LocalOptions {
        batch_tokens: 40,
        sequences: 9,
        queue_timeout: Some(Duration::from_millis(400)),
        speculation: SpeculationOptions { draft_tokens: 5, decode_rows: 14 },
        ..LocalOptions::default()
    };
    let mut rig = Rig::new(RunnerShape { ahead, lanes: 24, states: of_layers, ..shape(70, 4) }, options);
    rig.runner.fails_every = FAILS_EVERY;
    let mut simulation = Simulation { rig, visits, clients: BTreeMap::new(), admitted: 0, time: 0 };
    while simulation.time < ARRIVING || !simulation.clients.is_empty() {
        simulation.step();
        // No request waits for longer than the queue timeout, and every sequence that has begun
        // ends.
        assert!(simulation.time < ARRIVING + 2000, "{} don't end", simulation.clients.len());
    }
    simulation.rig.run();
    let stats = simulation.rig.scheduler.stats();
    assert_eq!((stats.free_blocks, stats.running, stats.waiting), (70, 0, 0));
    println!("{stats:?}");
    let counted = [
        stats.preemptions,
        stats.cancelled,
        stats.refused,
        stats.failed,
        stats.accepted_tokens,
        stats.late_masks,
    ];
    assert!(counted.iter().all(|count| *count > 100), "too little happened: {stats:?}");
    assert!(stats.drafted_tokens > stats.accepted_tokens);
}

#[test]
fn ten_thousand_requests_lose_and_starve_nothing() {
    simulate(1, 0, None);
}

#[test]
fn ten_thousand_requests_on_a_runner_that_is_ahead() {
    simulate(2, 1, None);
}

#[test]
fn ten_thousand_requests_of_layers_with_states() {
    let states = |snapshots| Some(StatesShape { snapshots, tentative: 5 });
    simulate(3, 0, states(12));
    simulate(4, 1, states(3));
}

//! Simulation loop: events on a virtual clock, in microseconds.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::BuildHasherDefault;

use super::NamedPolicy;
use super::cache::KeyHasher;
use super::engine::{Engine, Prompt};
use super::figures::{Figures, WINDOW};
use super::policies::{Outcome, Placement, Policy};
use super::scenario::{Change, Scenario};
use super::workload::Conversation;

/// Maximum number of engines that a request tries.
const ATTEMPTS: usize = 3;
/// Microseconds after which a client repeats a turn that failed.
const CLIENT_RETRY: u64 = 2_000_000;
/// Microseconds between reports of gauges, and between checks of health.
const REPORTS: u64 = 1_000_000;
const HEALTH: u64 = 5_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Begin(usize),
    Turn(usize),
    End { engine: usize, request: usize },
    Reports,
    Health,
    Window,
    Change(usize),
}

/// Progress of a conversation.
#[derive(Clone, Copy, Default)]
struct Progress {
    turn: u32,
    /// Number of tokens in its turns so far.
    tokens: u32,
    last_engine: Option<usize>,
}

struct Request {
    conversation: usize,
    host: usize,
    arrived: u64,
    prompt: Prompt,
    tried: Vec<usize>,
}

struct Simulation<'a> {
    conversations: &'a [Conversation],
    changes: Vec<(u64, Change)>,
    duration: u64,
    hosts: Vec<Box<dyn Policy>>,
    engines: Vec<Engine>,
    listed: usize,
    progress: Vec<Progress>,
    requests: HashMap<usize, (Request, Placement), BuildHasherDefault<KeyHasher>>,
    last_request: usize,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    last_event: u64,
    now: u64,
    figures: Figures,
}

/// Runs the conversations of `scenario`, each host with a policy of its own.
pub fn simulate(scenario: &Scenario, conversations: &[Conversation], policy: NamedPolicy) -> Figures {
    let engines = scenario.engines as usize;
    let mut simulation = Simulation {
        conversations,
        changes: scenario.changes(),
        duration: scenario.duration(),
        hosts: (0..scenario.hosts).map(|_| (policy.make)()).collect(),
        engines: (0..engines).map(|_| Engine::new(scenario.kv_tokens)).collect(),
        listed: 0,
        progress: vec![Progress::default(); conversations.len()],
        requests: HashMap::default(),
        last_request: 0,
        events: BinaryHeap::new(),
        last_event: 0,
        now: 0,
        figures: Figures::new(engines),
    };
    simulation.list(scenario.fewest_engines());
    simulation.run();
    simulation.figures
}

impl Simulation<'_> {
    fn run(&mut self) {
        for change in 0..self.changes.len() {
            self.at(self.changes[change].0, Event::Change(change));
        }
        self.at(self.conversations[0].begins, Event::Begin(0));
        for (time, event) in [(REPORTS, Event::Reports), (HEALTH, Event::Health), (WINDOW, Event::Window)] {
            self.at(time, event);
        }
        while let Some(Reverse((time, _, event))) = self.events.pop() {
            self.now = time;
            self.step(event);
        }
    }

    fn at(&mut self, time: u64, event: Event) {
        self.last_event += 1;
        self.events.push(Reverse((time, self.last_event, event)));
    }

    /// Schedules the same event again, until all conversations have begun.
    fn again(&mut self, after: u64, event: Event) {
        if self.now + after <= self.duration {
            self.at(self.now + after, event);
        }
    }

    fn step(&mut self, event: Event) {
        match event {
            Event::Begin(conversation) => {
                if let Some(next) = self.conversations.get(conversation + 1) {
                    self.at(next.begins, Event::Begin(conversation + 1));
                }
                self.turn(conversation);
            }
            Event::Turn(conversation) => self.turn(conversation),
            Event::End { engine, request } => self.end(engine, request),
            Event::Reports => {
                self.report();
                self.again(REPORTS, event);
            }
            Event::Health => {
                self.check_health();
                self.again(HEALTH, event);
            }
            Event::Window => {
                self.figures.loads.end_window(self.now);
                self.again(WINDOW, event);
            }
            Event::Change(change) => self.change(self.changes[change].1),
        }
    }

    fn turn(&mut self, at: usize) {
        let conversation = &self.conversations[at];
        let Progress { turn, tokens, .. } = self.progress[at];
        let prompt = Prompt {
            system_key: 1 << 40 | u64::from(conversation.application),
            system: conversation.system(),
            own_key: conversation.id.into(),
            own: tokens + conversation.message(turn),
            output: conversation.output(turn),
        };
        let host = conversation.host(turn, self.hosts.len());
        self.submit(Request { conversation: at, host, arrived: self.now, prompt, tried: Vec::new() });
    }

    fn submit(&mut self, mut request: Request) {
        let key = self.conversations[request.conversation].key;
        while request.tried.len() < ATTEMPTS {
            let host = &mut self.hosts[request.host];
            let Some(placement) = host.select(key, &request.prompt, &request.tried, &self.engines, self.now)
            else {
                break;
            };
            let engine = placement.engine;
            if !self.engines[engine].is_dead && !self.engines[engine].is_failing {
                return self.enqueue(request, placement);
            }
            host.release(placement, Outcome::Failed, self.now);
            self.figures.retries += 1;
            request.tried.push(engine);
        }
        self.fail(request.conversation);
    }

    fn enqueue(&mut self, request: Request, placement: Placement) {
        let engine = placement.engine;
        let progress = &mut self.progress[request.conversation];
        if let Some(last) = progress.last_engine.replace(engine) {
            self.figures.later_placements += 1;
            self.figures.moves += u64::from(last != engine);
        }
        self.last_request += 1;
        self.engines[engine].enqueue(self.last_request, request.prompt);
        self.requests.insert(self.last_request, (request, placement));
        self.admit(engine);
    }

    /// Admits requests from the engine's queue until its batch is full.
    fn admit(&mut self, engine: usize) {
        while let Some(admission) = self.engines[engine].admit(self.now) {
            let (request, _) = &self.requests[&admission.request];
            self.figures.requests += 1;
            self.figures.own_tokens += u64::from(request.prompt.own);
            self.figures.own_hits += u64::from(admission.own_hit);
            self.figures.first_token(admission.first_token - request.arrived);
            self.at(admission.ends, Event::End { engine, request: admission.request });
        }
        self.figures.loads.set(engine, self.engines[engine].load(), self.now);
    }

    fn end(&mut self, engine: usize, request: usize) {
        let Some((done, placement)) = self.requests.remove(&request) else { return };
        self.hosts[done.host].release(placement, Outcome::Succeeded, self.now);
        self.engines[engine].finish(request);
        self.admit(engine);
        let conversation = &self.conversations[done.conversation];
        let progress = &mut self.progress[done.conversation];
        let think = conversation.think(progress.turn);
        progress.turn += 1;
        progress.tokens = done.prompt.own + done.prompt.output;
        if progress.turn < conversation.turns {
            self.at(self.now + think, Event::Turn(done.conversation));
        }
    }

    /// Counts a failure, and lets the client repeat the turn.
    fn fail(&mut self, conversation: usize) {
        self.figures.failures += 1;
        self.at(self.now + CLIENT_RETRY, Event::Turn(conversation));
    }

    fn report(&mut self) {
        for engine in 0..self.listed {
            if !self.engines[engine].is_dead {
                let load = self.engines[engine].gauges();
                self.hosts.iter_mut().for_each(|host| host.report(engine, load, self.now));
            }
        }
    }

    fn check_health(&mut self) {
        for engine in 0..self.listed {
            let up = !self.engines[engine].is_dead;
            self.hosts.iter_mut().for_each(|host| host.set_up(engine, up));
        }
    }

    fn change(&mut self, change: Change) {
        match change {
            Change::Crash(engine) => self.crash(engine),
            Change::Restart(engine) => {
                self.engines[engine].is_dead = false;
                self.figures.loads.set_absent(engine, false);
            }
            Change::Fail(engine) => self.engines[engine].is_failing = true,
            Change::Recover(engine) => self.engines[engine].is_failing = false,
            Change::List(count) => self.list(count),
        }
    }

    fn list(&mut self, count: usize) {
        self.listed = count;
        self.hosts.iter_mut().for_each(|host| host.list(count));
        self.check_health();
        for engine in 0..self.engines.len() {
            self.figures.loads.set_absent(engine, engine >= count);
        }
    }

    /// Crashes an engine. Requests without a first token go to other engines; the clients of the
    /// others see a failure.
    fn crash(&mut self, engine: usize) {
        let lost = self.engines[engine].crash(self.now);
        self.figures.loads.set(engine, 0, self.now);
        self.figures.loads.set_absent(engine, true);
        for (number, had_token) in lost {
            let Some((mut request, placement)) = self.requests.remove(&number) else { continue };
            self.hosts[request.host].release(placement, Outcome::Failed, self.now);
            if had_token {
                self.fail(request.conversation);
            } else {
                self.figures.retries += 1;
                request.tried.push(engine);
                self.submit(request);
            }
        }
    }
}

//! Sends requests as configured, and keeps a record of each.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::api::{Prompt, Role};
use super::conversations::{Conversation, Conversations, Lengths};
use super::exchange::{Answer, exchange};
use super::failure::RequestFailure;
use super::record::{Figures, RequestRecord};
use super::target::BenchTarget;
use super::words::Random;

/// Requests to send.
#[derive(Debug, Clone)]
pub struct Load {
    /// Times of the requests.
    pub arrivals: Arrivals,
    /// Words of a system prompt that all requests share; zero for none.
    pub system_len: usize,
    /// Words of each user message.
    pub input_len: usize,
    /// Maximum number of tokens of each answer.
    pub output_len: usize,
    /// Seed of the words and the arrivals.
    pub seed: u64,
}

/// When requests are sent.
#[derive(Debug, Clone, Copy)]
pub enum Arrivals {
    /// Independent requests.
    Single {
        /// Number of requests.
        requests: usize,
        /// Mean number of requests per second; none: each is sent as soon as `concurrency` allows.
        rate: Option<f64>,
        /// Maximum number of concurrent requests; none: any number.
        concurrency: Option<usize>,
    },
    /// Conversations, each of which sends a request as soon as its last one is answered.
    Conversations(Conversations),
}

/// Progress of a load.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BenchProgress {
    /// Number of requests that ended.
    pub done: usize,
    /// Number of requests that failed.
    pub failed: usize,
    /// Number of requests under way.
    pub running: usize,
}

/// Runs a load. Returns the records in the order in which requests ended, and the duration of the
/// load.
pub async fn run(
    target: Arc<BenchTarget>,
    load: &Load,
    progress: &mut dyn FnMut(BenchProgress),
) -> (Vec<RequestRecord>, Duration) {
    let mut sender = Sender {
        target,
        begin: Instant::now(),
        running: JoinSet::new(),
        records: Vec::new(),
        failed: 0,
        progress,
    };
    match load.arrivals {
        Arrivals::Single { requests, rate, concurrency } => {
            sender.single(load, requests, rate, concurrency.unwrap_or(usize::MAX)).await;
        }
        Arrivals::Conversations(conversations) => sender.conversations(load, conversations).await,
    }
    let took = sender.begin.elapsed();
    (sender.records, took)
}

impl Load {
    fn system(&self) -> Option<String> {
        (self.system_len > 0).then(|| Random::new(self.seed, 0).words(self.system_len))
    }

    fn lengths(&self) -> Lengths {
        Lengths { input_len: self.input_len, output_len: self.output_len }
    }

    fn prompt(&self, index: usize, system: Option<&String>) -> Prompt {
        let words = Random::new(self.seed, index as u64 + 1).words(self.input_len);
        let mut messages: Vec<_> = system.map(|system| (Role::System, system.clone())).into_iter().collect();
        messages.push((Role::User, words));
        Prompt { messages, output_len: self.output_len }
    }
}

/// A request that ended: its conversation and turn, the time at which it was sent, and its result.
struct EndedRequest {
    conversation: Option<usize>,
    turn: usize,
    sent: Duration,
    result: Result<Answer, RequestFailure>,
}

/// Requests under way, and the records of those that ended. Dropping it cancels the requests.
struct Sender<'a> {
    target: Arc<BenchTarget>,
    begin: Instant,
    running: JoinSet<EndedRequest>,
    records: Vec<RequestRecord>,
    failed: usize,
    progress: &'a mut dyn FnMut(BenchProgress),
}

impl Sender<'_> {
    async fn single(&mut self, load: &Load, requests: usize, rate: Option<f64>, concurrency: usize) {
        let (system, mut random) = (load.system(), Random::new(load.seed, u64::MAX));
        let mut due = tokio::time::Instant::from_std(self.begin);
        for index in 0..requests {
            while self.running.len() >= concurrency {
                self.one_ended().await;
            }
            self.ended_until(due).await;
            self.send(None, index, load.prompt(index, system.as_ref()));
            due += Duration::from_secs_f64(rate.map_or(0.0, |rate| random.interval(rate)));
        }
        while !self.running.is_empty() {
            self.one_ended().await;
        }
    }

    async fn conversations(&mut self, load: &Load, Conversations { count, grow_to }: Conversations) {
        let system = load.system();
        let new = |index| Conversation::new(load.seed, index, system.as_deref());
        let mut all: Vec<Conversation> = (0..count).map(new).collect();
        for (index, conversation) in all.iter_mut().enumerate() {
            let (turn, prompt) = conversation.next(load.lengths());
            self.send(Some(index), turn, prompt);
        }
        while let Some((Some(index), answer)) = self.one_ended().await {
            let conversation = &mut all[index];
            if answer.is_some_and(|answer| conversation.answered(&answer, grow_to)) {
                let (turn, prompt) = conversation.next(load.lengths());
                self.send(Some(index), turn, prompt);
            }
        }
    }

    fn send(&mut self, conversation: Option<usize>, turn: usize, prompt: Prompt) {
        let (target, begin) = (Arc::clone(&self.target), self.begin);
        self.running.spawn(async move {
            let sent = begin.elapsed();
            EndedRequest { conversation, turn, sent, result: exchange(&target, &prompt).await }
        });
        self.tell();
    }

    /// Takes requests that end before `due`, and waits until then.
    async fn ended_until(&mut self, due: tokio::time::Instant) {
        while tokio::time::timeout_at(due, self.one_ended()).await.is_ok_and(|ended| ended.is_some()) {}
        tokio::time::sleep_until(due).await;
    }

    /// Waits for the next request to end. Returns its conversation and its answer; none if no
    /// request is under way.
    async fn one_ended(&mut self) -> Option<(Option<usize>, Option<Answer>)> {
        let ended = self.running.join_next().await?;
        let EndedRequest { conversation, turn, sent, result } =
            ended.expect("a request neither panics nor is cancelled");
        self.failed += usize::from(result.is_err());
        let figures = result.as_ref().map(Figures::of).map_err(|failure| *failure);
        self.records.push(RequestRecord { conversation, turn, sent, result: figures });
        self.tell();
        Some((conversation, result.ok()))
    }

    fn tell(&mut self) {
        let (done, failed, running) = (self.records.len(), self.failed, self.running.len());
        (self.progress)(BenchProgress { done, failed, running });
    }
}

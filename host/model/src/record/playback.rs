//! Playback of a record's inputs to the code that took them the first time.
//!
//! Invariant: inputs are taken in the record's order, each by whom it is for; everybody else waits.
//! The answer's clock shows the time of the input that was taken last.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::sync::Notify;

use super::line::{FailureLine, Line, ListedLine, PromptLine, StepLine, ToolLine};
use super::reader::Record;
use system::Clock;
use turn::TurnFailure;

/// An input of a recorded answer.
#[derive(Debug, Clone, PartialEq)]
pub enum RecordedInput {
    /// A step of a generation.
    Step(StepLine),
    /// A list of tools.
    Listed(ListedLine),
    /// The end of a call.
    Tool(ToolLine),
    /// The refusal of a turn.
    Refused(FailureLine),
    /// The answer's end from outside.
    Cancel(FailureLine),
    /// A heartbeat is due.
    Heartbeat,
    /// The client steers.
    Steer,
    /// The answer's end couldn't be stored.
    Unstored,
}

/// Playback of a record. Clones are the same playback.
#[derive(Debug, Clone)]
pub struct Playback(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    prompts: BTreeMap<u32, PromptLine>,
    began: u64,
    clock: Clock,
    /// Number of tokens of the only generation after which the engine goes on.
    fork: Option<usize>,
    state: Mutex<State>,
    /// Told when somebody waits for an input, and there is none left.
    starving: Notify,
}

#[derive(Debug, Default)]
struct State {
    inputs: VecDeque<(u64, RecordedInput)>,
    wakers: Vec<Waker>,
}

impl Playback {
    /// The playback of a record.
    pub fn new(record: &Record) -> Self {
        Self::of(record, None)
    }

    /// The playback of a record's first `tokens` tokens, behind which the engine goes on.
    pub fn fork(record: &Record, tokens: usize) -> Self {
        Self::of(record, Some(tokens))
    }

    fn of(record: &Record, fork: Option<usize>) -> Self {
        let inputs = record.lines.iter().filter_map(input);
        let inputs =
            inputs.filter(|(_, input)| fork.is_none() || matches!(input, RecordedInput::Step(_))).collect();
        let state = Mutex::new(State { inputs, wakers: Vec::new() });
        let (prompts, began) = (record.prompts.clone(), record.head.clock);
        let starving = Notify::new();
        Self(Arc::new(Shared { prompts, began, clock: Clock::at(began), fork, state, starving }))
    }

    /// The answer's clock.
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// A generation as it was recorded.
    pub(crate) fn prompt(&self, generation: u32) -> Option<&PromptLine> {
        self.0.prompts.get(&generation)
    }

    /// Number of tokens after which the engine goes on; none if it doesn't.
    pub(crate) fn forks_after(&self) -> Option<usize> {
        self.0.fork
    }

    /// The first input that wasn't taken yet.
    pub fn peek(&self) -> Option<RecordedInput> {
        self.lock().inputs.front().map(|(_, input)| input.clone())
    }

    /// Number of inputs that weren't taken yet.
    pub fn left(&self) -> usize {
        self.lock().inputs.len()
    }

    /// Takes the next input if it is the caller's.
    pub fn take(&self, is_own: impl Fn(&RecordedInput) -> bool) -> Option<RecordedInput> {
        let mut state = self.lock();
        let (ms, _) = state.inputs.front().filter(|(_, input)| is_own(input))?;
        self.0.clock.set(self.0.began.saturating_add(*ms));
        let (_, input) = state.inputs.pop_front()?;
        for waker in state.wakers.drain(..) {
            waker.wake();
        }
        Some(input)
    }

    /// As [`Self::take`]; not ready while the next input is another's.
    pub fn poll_take(
        &self,
        cx: &mut Context<'_>,
        is_own: impl Fn(&RecordedInput) -> bool,
    ) -> Poll<RecordedInput> {
        if let Some(input) = self.take(is_own) {
            return Poll::Ready(input);
        }
        let mut state = self.lock();
        if state.inputs.is_empty() {
            self.0.starving.notify_one();
        }
        if !state.wakers.iter().any(|waker| waker.will_wake(cx.waker())) {
            state.wakers.push(cx.waker().clone());
        }
        Poll::Pending
    }

    /// Waits until the next input is the caller's, and takes it.
    pub async fn next(&self, is_own: impl Fn(&RecordedInput) -> bool) -> RecordedInput {
        std::future::poll_fn(|cx| self.poll_take(cx, &is_own)).await
    }

    /// Waits until somebody waits for an input, and there is none left.
    pub async fn starving(&self) {
        self.0.starving.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FailureLine {
    /// The failure. Its code stays in memory for good: the few commands that read records end soon.
    pub fn into_failure(self) -> TurnFailure {
        let known = [TurnFailure::WITHDRAWN, TurnFailure::STEERED, "server_error", "model_error"];
        let code = known.into_iter().find(|known| **known == *self.code);
        let code = code.unwrap_or_else(|| Box::leak(self.code.into_boxed_str()));
        TurnFailure { code, message: self.message }
    }
}

fn input(line: &Line) -> Option<(u64, RecordedInput)> {
    Some(match line {
        Line::Step(step) => (step.ms, RecordedInput::Step(step.clone())),
        Line::Listed(listed) => (listed.ms, RecordedInput::Listed(listed.clone())),
        Line::Tool(tool) => (tool.ms, RecordedInput::Tool(tool.clone())),
        Line::Refused(failure) => (failure.ms, RecordedInput::Refused(failure.clone())),
        Line::Cancel(failure) => (failure.ms, RecordedInput::Cancel(failure.clone())),
        Line::Heartbeat(moment) => (moment.ms, RecordedInput::Heartbeat),
        Line::Steer(moment) => (moment.ms, RecordedInput::Steer),
        Line::Unstored(moment) => (moment.ms, RecordedInput::Unstored),
        Line::Head(_)
        | Line::Answer(_)
        | Line::Prompt(_)
        | Line::Events(_)
        | Line::Fault(_)
        | Line::Lost(_)
        | Line::End(_) => return None,
    })
}

//! Generation that plays given tokens at a given pace: the replay engine is built on it.
//!
//! Invariants: `max_tokens` and stop ids hold as in an engine; a client that doesn't read delays
//! its own generation only, and finds at most `queue` steps due when it reads again; dropping the
//! generation ends it (there is no task behind it); what breaks the request's mask is an error and
//! isn't played.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, ready};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::{Instant, Sleep, sleep_until};

use crate::error::GenerationError;
use crate::generation::{Finish, Generation, GenerationRequest, StepOutput, StepStream};
use crate::play_check::PlayedCheck;
use crate::token::{Logprobs, Token};

/// Output to play instead of a model's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlayedOutput {
    /// Generated tokens, without the stop token.
    pub tokens: Vec<u32>,
    /// Number of tokens in a step; 0: all in one step.
    pub tokens_per_step: usize,
    /// Time from one step to the next, not zero; `None`: no wait. The first step comes at once, the
    /// others at ticks that all outputs with the same pace share.
    pub pace: Option<Duration>,
    /// How the output ends.
    pub end: PlayedEnd,
}

/// How played output ends, unless `max_tokens` or a stop id comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlayedEnd {
    /// With the first stop id of the request that its mask allows.
    Stop,
    /// With [`Finish::Length`], as if `max_tokens` were reached.
    Length,
    /// With an engine's error.
    Error,
    /// Never: silence until the client leaves.
    Hang,
}

impl PlayedOutput {
    /// Plays the output for a request, of which `max_tokens`, `stop_ids`, `mask`, `queue` and
    /// `top_logprobs` are used. Each token is reported with probability 1.
    pub fn play(self, request: GenerationRequest) -> Generation {
        let largest = self.tokens.iter().chain(&*request.stop_ids).copied().max().unwrap_or_default();
        Generation::new(Playback {
            tokens: self.tokens,
            played: 0,
            check: request.mask.map(|mask| PlayedCheck::new(mask, largest)),
            tokens_per_step: if self.tokens_per_step == 0 { usize::MAX } else { self.tokens_per_step },
            end: self.end,
            left: request.max_tokens.max(1),
            stop_ids: request.stop_ids,
            top_logprobs: request.top_logprobs,
            clock: self.pace.map(|pace| Clock::new(*EPOCH, pace, request.queue)),
        })
    }
}

struct Playback {
    tokens: Vec<u32>,
    /// Number of tokens that were played.
    played: usize,
    check: Option<PlayedCheck>,
    tokens_per_step: usize,
    end: PlayedEnd,
    /// Tokens that may still be generated.
    left: usize,
    stop_ids: Arc<[u32]>,
    top_logprobs: Option<u8>,
    clock: Option<Clock>,
}

impl StepStream for Playback {
    fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<Option<StepOutput>> {
        // Yields to other tasks now and then: without a pace, nothing else makes the reader of a
        // long output wait.
        ready!(pin!(tokio::task::consume_budget()).poll(cx));
        if self.played == self.tokens.len() && self.end == PlayedEnd::Hang {
            return Poll::Pending;
        }
        ready!(self.poll_checked(cx));
        if let Some(clock) = &mut self.clock {
            ready!(clock.poll_due(cx));
        }
        Poll::Ready(Some(self.step()))
    }
}

impl Playback {
    /// Ready once the tokens of the next step are checked, and the output's end if it may come in
    /// this step.
    fn poll_checked(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(check) = &mut self.check else { return Poll::Ready(()) };
        let most = self.played.saturating_add(self.tokens_per_step.min(self.left));
        let count = most.min(self.tokens.len());
        ready!(check.poll_tokens(&self.tokens, count, &self.stop_ids, cx));
        if count < most && self.end == PlayedEnd::Stop {
            ready!(check.poll_end(&self.tokens, &self.stop_ids, cx));
        }
        Poll::Ready(())
    }

    fn step(&mut self) -> StepOutput {
        let mut step = StepOutput::default();
        for _ in 0..self.tokens_per_step {
            match self.next() {
                PlayedEvent::Token(token) => step.tokens.push(token),
                PlayedEvent::Finish(finish) => step.finish = Some(finish),
                PlayedEvent::Silence => break,
            }
            if self.left == 0 {
                step.finish = step.finish.or(Some(Finish::Length));
            }
            if step.finish.is_some() {
                break;
            }
        }
        step
    }

    fn next(&mut self) -> PlayedEvent {
        if let Some(PlayedCheck { passed, failed: Some(error), .. }) = &self.check
            && *passed == self.played
        {
            return PlayedEvent::Finish(Finish::Error(error.clone()));
        }
        let Some(&id) = self.tokens.get(self.played) else { return self.ending() };
        self.played += 1;
        self.left -= 1;
        if self.stop_ids.contains(&id) {
            return PlayedEvent::Finish(Finish::Stop(id));
        }
        let logprobs = self.top_logprobs.map(|count| {
            Box::new(Logprobs { chosen: 0.0, top: if count > 0 { vec![(id, 0.0)] } else { Vec::new() } })
        });
        PlayedEvent::Token(Token { id, logprobs })
    }

    fn ending(&self) -> PlayedEvent {
        let stop = self.check.as_ref().and_then(|check| check.stop);
        match (self.end, stop.or(self.stop_ids.first().copied())) {
            (PlayedEnd::Stop, Some(id)) => PlayedEvent::Finish(Finish::Stop(id)),
            (PlayedEnd::Stop, None) => PlayedEvent::Finish(Finish::Error(GenerationError::NoStopToken)),
            (PlayedEnd::Length, _) => PlayedEvent::Finish(Finish::Length),
            (PlayedEnd::Error, _) => PlayedEvent::Finish(Finish::Error(GenerationError::Played)),
            (PlayedEnd::Hang, _) => PlayedEvent::Silence,
        }
    }
}

enum PlayedEvent {
    Token(Token),
    Finish(Finish),
    Silence,
}

/// Longest tick. Played steps that are due within one tick come at the same time, as the tokens of
/// an engine's step do.
const MAX_TICK: Duration = Duration::from_millis(50);

/// Time from which ticks are counted, for all played outputs of the process: a whole second of the
/// system's clock, so that a client on this machine can tell how late a step comes.
static EPOCH: LazyLock<Instant> = LazyLock::new(|| {
    let (now, clock) = (Instant::now(), SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default());
    now.checked_sub(Duration::from_nanos(clock.subsec_nanos().into())).unwrap_or(now)
});

/// When the next step is due.
pub(crate) struct Clock {
    epoch: Instant,
    pace: Duration,
    /// The pace divided by a whole number, so that outputs with the same pace stay on shared ticks.
    tick: Duration,
    /// Longest delay that later steps catch up: the pace times the number of steps that the
    /// request's queue would hold.
    lag: Duration,
    pub(crate) due: Option<Instant>,
    /// Timer of the next step, reused for each step.
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Clock {
    /// A clock whose ticks count from `epoch`; `pace` isn't zero.
    pub(crate) fn new(epoch: Instant, pace: Duration, queue: usize) -> Self {
        let steps = u32::try_from(queue).unwrap_or(u32::MAX);
        let ticks = pace.as_nanos().div_ceil(MAX_TICK.as_nanos());
        let tick = pace / u32::try_from(ticks).unwrap_or(u32::MAX);
        Self { epoch, pace, tick, lag: pace.saturating_mul(steps), due: None, sleep: None }
    }

    /// Records that a step was taken at `now`. The next step is due one pace after this step was
    /// due, however late it was taken; but a step that was due more than the lag ago counts as due
    /// one lag ago. The first step counts as due at the tick after it.
    pub(crate) fn taken(&mut self, now: Instant) {
        let mut due = self.due.unwrap_or_else(|| self.tick_after(now));
        if let Some(earliest) = now.checked_sub(self.lag).filter(|earliest| due < *earliest) {
            due = self.tick_after(earliest);
        }
        self.due = Some(due + self.pace);
    }

    /// First tick at or after `time`.
    fn tick_after(&self, time: Instant) -> Instant {
        let tick = self.tick.as_nanos();
        let past = time.saturating_duration_since(self.epoch).as_nanos() % tick;
        let left = u64::try_from((tick - past) % tick).expect("less than a tick");
        time + Duration::from_nanos(left)
    }

    fn poll_due(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(due) = self.due {
            let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(due)));
            if sleep.deadline() != due {
                sleep.as_mut().reset(due);
            }
            ready!(sleep.as_mut().poll(cx));
        }
        self.taken(Instant::now());
        Poll::Ready(())
    }
}

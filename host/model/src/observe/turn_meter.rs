//! Clock and counts of one turn.
//!
//! Invariant: a turn that has begun is counted as ended once, even if it is dropped.

use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::{Finish, StepOutput};

use super::gaps::Gaps;
use super::model_metrics::{FinishedReason, ModelMetrics};
use net::trace::{Trace, TracedPart};
use parsers::Plugin;

/// Time after which counts are added to those of the model while the turn goes on, so that rates
/// are seen while long answers are written.
const FOLD_TIME: Duration = Duration::from_secs(1);

/// Steps of which the time of parsing one is measured, since a reading of the clock costs about as
/// much as a short token's parsing.
const MEASURED: u32 = 16;

/// Meter of one turn.
pub(crate) struct TurnMeter {
    metrics: Arc<ModelMetrics>,
    plugin: Arc<Plugin>,
    trace: Option<Trace>,
    parser_calls: u64,
    /// When the engine was given the request.
    submitted: Instant,
    /// Tokens of the prompt.
    prompt: u32,
    /// Whether the prompt's tokens count as this turn's: choices share a prompt.
    owns_prompt: bool,
    /// When the last step came, and the first and last with a token.
    now: Instant,
    first: Option<Instant>,
    last: Instant,
    folded: Instant,
    queued: Duration,
    cached: usize,
    has_begun: bool,
    has_ended: bool,
    /// Steps that have come.
    steps: u32,
    tokens: u64,
    unfolded_tokens: u64,
    gaps: Gaps,
    parsing: Duration,
}

impl TurnMeter {
    /// Meter of a turn whose request was submitted now.
    pub(crate) fn new(
        metrics: Arc<ModelMetrics>,
        plugin: Arc<Plugin>,
        trace: Option<Trace>,
        prompt: u32,
        owns_prompt: bool,
    ) -> Self {
        let now = Instant::now();
        Self {
            metrics,
            plugin,
            trace,
            parser_calls: 0,
            submitted: now,
            prompt,
            owns_prompt,
            now,
            first: None,
            last: now,
            folded: now,
            queued: Duration::ZERO,
            cached: 0,
            has_begun: false,
            has_ended: false,
            steps: 0,
            tokens: 0,
            unfolded_tokens: 0,
            gaps: Gaps::default(),
            parsing: Duration::ZERO,
        }
    }

    /// Counts a step that has come.
    pub(crate) fn step(&mut self, step: &StepOutput) {
        self.now = step.at.unwrap_or_else(Instant::now);
        self.steps = self.steps.wrapping_add(1);
        if !std::mem::replace(&mut self.has_begun, true) && self.owns_prompt {
            self.metrics.prompt_tokens.increment(self.prompt.into());
            self.metrics.prompt_length.record(self.prompt);
        }
        (self.queued, self.cached) = (step.queued, step.cached_tokens);
        let ending = usize::from(matches!(step.finish, Some(Finish::Stop(_))));
        let tokens = u32::try_from(step.tokens.len() + step.untold_tokens + ending).unwrap_or(u32::MAX);
        if tokens == 0 {
            return;
        }
        match self.first {
            None => self.first = Some(self.now),
            Some(_) => self.gaps.record(self.now - self.last, tokens),
        }
        self.last = self.now;
        self.unfolded_tokens += u64::from(tokens);
        if self.now - self.folded >= FOLD_TIME {
            self.fold();
        }
    }

    /// The last step's tokens are about to be detokenized and parsed. Returns the time, if it is to
    /// be measured: of the first step, in which the parser is made, and of one in [`MEASURED`] others.
    pub(crate) fn parsing_begins(&self) -> Option<Instant> {
        (self.steps == 1 || self.steps % MEASURED == MEASURED / 2).then(Instant::now)
    }

    /// The last step's tokens were detokenized and parsed, with the turn's parser called this often
    /// since it began.
    pub(crate) fn parsed(&mut self, began: Option<Instant>, parser_calls: u64) {
        self.parser_calls = parser_calls;
        if let Some(began) = began {
            let steps = if self.steps == 1 { 1 } else { MEASURED };
            self.parsing += began.elapsed() * steps;
        }
    }

    /// The turn has ended.
    pub(crate) fn end(&mut self, reason: FinishedReason) {
        if !self.has_begun || std::mem::replace(&mut self.has_ended, true) {
            return;
        }
        self.fold();
        let metrics = &self.metrics;
        metrics.cache_queries.increment(self.prompt.into());
        metrics.cache_hits.increment(self.cached as u64);
        metrics.queue_time.record(self.queued);
        if let Some(first) = self.first {
            metrics.prefill_time.record((first - self.submitted).saturating_sub(self.queued));
            metrics.decode_time.record(self.last - first);
            if let Some(gaps @ 1..) = self.tokens.checked_sub(1) {
                metrics.mean_gap.record((self.last - first).as_secs_f64() / length(gaps));
            }
        }
        metrics.generation_length.record(length(self.tokens));
        metrics.longest_generation.record(length(self.tokens));
        if let Some(trace) = &self.trace {
            trace.note(|| TracedPart::Turn {
                submitted: self.submitted,
                began: self.submitted + self.queued,
                tokens: self.first.map(|first| (first, self.last)),
            });
        }
        metrics.turn_ended(reason);
        metrics.parsed(&self.plugin.descriptor().name, self.parser_calls, self.parsing);
    }

    /// Adds what was counted since the last time to the model's metrics.
    fn fold(&mut self) {
        self.folded = self.now;
        self.metrics.gaps.add(&mut self.gaps);
        self.tokens += self.unfolded_tokens;
        self.metrics.generation_tokens.increment(std::mem::take(&mut self.unfolded_tokens));
    }
}

/// A number of tokens, as metrics have it.
#[expect(clippy::cast_precision_loss, reason = "far fewer tokens than 2^53")]
fn length(tokens: u64) -> f64 {
    tokens as f64
}

impl Drop for TurnMeter {
    fn drop(&mut self) {
        self.end(FinishedReason::Abort);
    }
}

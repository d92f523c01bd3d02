//! Metrics of one model's turns and answers. The handles are made once, since each lookup has a
//! cost.

use std::sync::Arc;
use std::time::Duration;

use metrics::{Counter, Histogram, counter, histogram};

use super::gaps::GapHistogram;
use super::metrics::{
    CACHE_HITS, CACHE_QUERIES, DECODE_TIME, FIRST_TOKEN, GENERATION_LENGTH, GENERATION_TOKENS, LATENCY,
    LONGEST_GENERATION, MEAN_TOKEN_GAP, PARSER_CALLS, PARSING, PREFILL_TIME, PROMPT_LENGTH, PROMPT_TOKENS,
    QUEUE_TIME, SUCCESS,
};
use system::metric::Metric;
use turn::{TurnEnd, TurnFailure};

/// How a turn ended, in vLLM's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishedReason {
    /// The model ended it, or a stop string did.
    Stop,
    /// The limit of tokens.
    Length,
    /// Its client left, or withdrew it.
    Abort,
    /// It failed.
    Error,
}

impl FinishedReason {
    const ALL: [Self; 4] = [Self::Stop, Self::Length, Self::Abort, Self::Error];

    /// The reason of a turn's end.
    pub fn of(end: &TurnEnd) -> Self {
        match end {
            TurnEnd::Completed => Self::Stop,
            TurnEnd::MaxOutputTokens => Self::Length,
            TurnEnd::Cancelled => Self::Abort,
            TurnEnd::Failed(TurnFailure { code, .. })
                if [TurnFailure::WITHDRAWN, TurnFailure::STEERED].contains(code) =>
            {
                Self::Abort
            }
            TurnEnd::Failed(_) => Self::Error,
        }
    }

    /// The word for it in metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::Abort => "abort",
            Self::Error => "error",
        }
    }
}

/// Metrics of one model, under the label `model_name`.
pub struct ModelMetrics {
    label: Arc<str>,
    is_counted: bool,
    pub(super) prompt_tokens: Counter,
    pub(super) generation_tokens: Counter,
    pub(super) cache_queries: Counter,
    pub(super) cache_hits: Counter,
    pub(super) queue_time: Histogram,
    pub(super) prefill_time: Histogram,
    pub(super) decode_time: Histogram,
    pub(super) mean_gap: Histogram,
    pub(super) prompt_length: Histogram,
    pub(super) generation_length: Histogram,
    pub(super) longest_generation: Histogram,
    pub(super) gaps: GapHistogram,
    finished: [Counter; FinishedReason::ALL.len()],
    first_token: Histogram,
    latency: Histogram,
}

impl ModelMetrics {
    /// Metrics of the model that is called `label`, each with the value 0 from now on.
    pub fn new(label: Arc<str>) -> Self {
        let count = |metric: Metric| counter!(metric.name(), "model_name" => Arc::clone(&label));
        let times = |metric: Metric| histogram!(metric.name(), "model_name" => Arc::clone(&label));
        let finished = FinishedReason::ALL.map(|reason| {
            counter!(SUCCESS.name(), "model_name" => Arc::clone(&label), "finished_reason" => reason.word())
        });
        Self {
            prompt_tokens: count(PROMPT_TOKENS),
            generation_tokens: count(GENERATION_TOKENS),
            cache_queries: count(CACHE_QUERIES),
            cache_hits: count(CACHE_HITS),
            queue_time: times(QUEUE_TIME),
            prefill_time: times(PREFILL_TIME),
            decode_time: times(DECODE_TIME),
            mean_gap: times(MEAN_TOKEN_GAP),
            prompt_length: times(PROMPT_LENGTH),
            generation_length: times(GENERATION_LENGTH),
            longest_generation: times(LONGEST_GENERATION),
            gaps: GapHistogram::default(),
            finished,
            first_token: times(FIRST_TOKEN),
            latency: times(LATENCY),
            label,
            is_counted: true,
        }
    }

    /// Metrics that nobody sees, of an answer that nobody asked for.
    pub fn uncounted(label: Arc<str>) -> Self {
        let (count, times) = (Counter::noop, Histogram::noop);
        Self {
            prompt_tokens: count(),
            generation_tokens: count(),
            cache_queries: count(),
            cache_hits: count(),
            queue_time: times(),
            prefill_time: times(),
            decode_time: times(),
            mean_gap: times(),
            prompt_length: times(),
            generation_length: times(),
            longest_generation: times(),
            gaps: GapHistogram::default(),
            finished: FinishedReason::ALL.map(|_| count()),
            first_token: times(),
            latency: times(),
            label,
            is_counted: false,
        }
    }

    /// The model's label.
    pub fn label(&self) -> &Arc<str> {
        &self.label
    }

    /// Time between tokens.
    pub fn gaps(&self) -> &GapHistogram {
        &self.gaps
    }

    /// An answer's first event came after this time.
    pub fn first_event(&self, time: Duration) {
        self.first_token.record(time);
    }

    /// An answer ended after this time.
    pub fn answer_ended(&self, time: Duration) {
        self.latency.record(time);
    }

    /// A turn ended.
    pub(super) fn turn_ended(&self, reason: FinishedReason) {
        self.finished[reason as usize].increment(1);
    }

    /// A turn's detokenizing and parsing took `time` for `calls` calls of the parser.
    pub(super) fn parsed(&self, parser: &str, calls: u64, time: Duration) {
        if !self.is_counted {
            return;
        }
        let (model, parser) = (|| Arc::clone(&self.label), || parser.to_owned());
        counter!(PARSER_CALLS.name(), "model_name" => model(), "parser" => parser()).increment(calls);
        histogram!(PARSING.name(), "model_name" => model(), "parser" => parser()).record(time);
    }
}

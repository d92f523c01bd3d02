//! The span of one answer, from its acceptance to its end.

use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::traces::exporter::TraceExporter;
use crate::traces::names;
use crate::traces::span::{Attribute, Kind, Span};
use api::Protocol;
use model::Job;
use model::observe::FinishedReason;
use net::trace::{SpanContext, Trace, TracedPart};
use turn::{TurnEnd, TurnFailure, Usage};

/// What is known of an answer's span when the answer is accepted.
pub(crate) struct SpanStart<'a> {
    /// The caller's span.
    pub(crate) parent: Option<&'a SpanContext>,
    /// When the request came.
    pub(crate) began: Instant,
    /// Id of the request.
    pub(crate) request_id: &'a str,
    /// The model's label.
    pub(crate) model: Arc<str>,
    pub(crate) protocol: Protocol,
    pub(crate) job: &'a Job,
    /// Id of the answer, where it has one.
    pub(crate) response_id: Option<String>,
}

/// The span of an answer that is under way. It is exported when it is dropped.
pub(crate) struct AnswerSpan {
    exporter: TraceExporter,
    trace: Trace,
    parent: Option<String>,
    name: String,
    began: Instant,
    attributes: Vec<(&'static str, Attribute)>,
    finish_reasons: Vec<&'static str>,
    usage: Usage,
    error: Option<&'static str>,
}

impl AnswerSpan {
    /// Begins a span, unless the caller's trace isn't kept.
    pub(crate) fn begin(exporter: &TraceExporter, start: SpanStart<'_>) -> Option<Self> {
        let SpanStart { parent, began, request_id, model, protocol, job, response_id } = start;
        if parent.is_some_and(|parent| !parent.is_sampled()) {
            return None;
        }
        let operation = if protocol == Protocol::Completions { names::TEXT_COMPLETION } else { names::CHAT };
        let mut attributes: Vec<(_, Attribute)> = vec![
            (names::OPERATION, operation.into()),
            (names::PROVIDER, names::SLUICE.into()),
            (names::REQUEST_MODEL, (*model).into()),
            (names::RESPONSE_MODEL, (*model).into()),
            (names::REQUEST_ID, request_id.into()),
        ];
        attributes
            .extend(job.max_output_tokens.map(|most| (names::MAX_TOKENS, Attribute::Number(most.into()))));
        let temperature = job.sampling.temperature;
        attributes.extend(temperature.map(|one| (names::TEMPERATURE, Attribute::Fraction(one.into()))));
        let choices = job.sampling.n.filter(|choices| *choices > 1);
        attributes.extend(choices.map(|choices| (names::CHOICES, Attribute::Number(choices.into()))));
        attributes.extend(response_id.map(|id| (names::RESPONSE_ID, Attribute::Text(id))));
        Some(Self {
            exporter: exporter.clone(),
            trace: Trace::noted(parent.map_or_else(SpanContext::root, SpanContext::child)),
            parent: parent.map(|parent| parent.span_id().to_owned()),
            name: format!("{operation} {model}"),
            began,
            attributes,
            finish_reasons: Vec::new(),
            usage: Usage::default(),
            error: None,
        })
    }

    /// The trace in which the answer's parts are noted.
    pub(crate) fn trace(&self) -> &Trace {
        &self.trace
    }

    /// A choice has ended.
    pub(crate) fn choice_ended(&mut self, end: &TurnEnd, usage: Usage) {
        self.finish_reasons.push(FinishedReason::of(end).word());
        self.usage += usage;
        if let TurnEnd::Failed(TurnFailure { code, .. }) = end {
            self.error.get_or_insert(code);
        }
    }

    /// The answer was refused with this code before it began.
    pub(crate) fn refused(&mut self, code: &'static str) {
        self.finish_reasons.push(FinishedReason::Error.word());
        self.error = Some(code);
    }

    /// The answer's span and those of its parts.
    fn spans(&mut self) -> Vec<Span> {
        let clock = Clock::now();
        if self.finish_reasons.is_empty() {
            // Nobody waited for the end.
            self.finish_reasons.push(FinishedReason::Abort.word());
            self.error = Some(TurnFailure::WITHDRAWN);
        }
        let mut attributes = std::mem::take(&mut self.attributes);
        attributes.extend([
            (names::FINISH_REASONS, Attribute::List(std::mem::take(&mut self.finish_reasons))),
            (names::INPUT_TOKENS, Attribute::Number(self.usage.input_tokens.into())),
            (names::OUTPUT_TOKENS, Attribute::Number(self.usage.output_tokens.into())),
        ]);
        attributes.extend(self.error.map(|code| (names::ERROR, code.into())));
        let context = self.trace.context();
        let mut spans = vec![Span {
            trace_id: context.trace_id().to_owned(),
            id: context.span_id().to_owned(),
            parent: self.parent.take(),
            name: std::mem::take(&mut self.name),
            kind: Kind::Server,
            began: clock.unix(self.began),
            ended: clock.unix(Instant::now()),
            attributes,
            failed: self.error.is_some(),
        }];
        spans.extend(self.trace.take_parts().into_iter().flat_map(|part| part_spans(context, &clock, part)));
        spans
    }
}

impl Drop for AnswerSpan {
    fn drop(&mut self) {
        let spans = self.spans();
        self.exporter.export(spans);
    }
}

/// Spans of a part of an answer, whose span is `answer`.
fn part_spans(answer: &SpanContext, clock: &Clock, part: TracedPart) -> Vec<Span> {
    let child = |context: SpanContext, name: &str, kind: Kind, began: Instant, ended: Instant| Span {
        trace_id: answer.trace_id().to_owned(),
        id: context.span_id().to_owned(),
        parent: Some(answer.span_id().to_owned()),
        name: name.to_owned(),
        kind,
        began: clock.unix(began),
        ended: clock.unix(ended),
        attributes: Vec::new(),
        failed: false,
    };
    let stage = |name, began, ended| child(answer.child(), name, Kind::Internal, began, ended);
    match part {
        TracedPart::Turn { submitted, began, tokens } => {
            let mut spans = vec![stage("queue", submitted, began)];
            if let Some((first, last)) = tokens {
                spans.extend([stage("prefill", began, first), stage("decode", first, last)]);
            }
            spans
        }
        TracedPart::Tool { context, server, began, ended, outcome } => {
            let mut attributes = vec![
                (names::OPERATION, names::EXECUTE_TOOL.into()),
                (names::TOOL_SERVER, Attribute::Text(server.to_string())),
            ];
            let failed = outcome != "completed";
            attributes.extend(failed.then(|| (names::ERROR, outcome.into())));
            let span = child(context, names::EXECUTE_TOOL, Kind::Client, began, ended);
            vec![Span { attributes, failed, ..span }]
        }
    }
}

/// The same moment on both clocks.
struct Clock {
    instant: Instant,
    unix: u64,
}

impl Clock {
    fn now() -> Self {
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { instant: Instant::now(), unix: u64::try_from(unix.as_nanos()).unwrap_or(u64::MAX) }
    }

    /// A moment before, in nanoseconds since 1970.
    fn unix(&self, instant: Instant) -> u64 {
        let before = self.instant.saturating_duration_since(instant).as_nanos();
        self.unix.saturating_sub(u64::try_from(before).unwrap_or(u64::MAX))
    }
}

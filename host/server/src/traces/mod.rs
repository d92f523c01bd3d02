//! Traces: a span for each answer, with children for its queue, prefill, decode and tools, sent to a
//! collector (`--otlp-endpoint`).
//!
//! Invariants: spans are made at the end of an answer, so a token costs nothing; they hold names
//! that the operator chose, numbers and ids, and never content; a collector that is slow or gone has
//! no effect on answers.

mod answer_span;
mod exporter;
mod names;
mod span;

pub(crate) use answer_span::{AnswerSpan, SpanStart};
pub(crate) use exporter::METRICS;
pub use exporter::TraceExporter;

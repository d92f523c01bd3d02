//! Trace of one answer: what its parts note while they work, and the context that they pass on to
//! other servers. The transport makes spans of it at the answer's end.
//!
//! Invariant: bounded. Of an answer with very many turns and calls the first are noted.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

pub use crate::span_context::SpanContext;

/// Most parts that are noted of an answer.
const MOST_PARTS: usize = 64;

/// A part of an answer that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TracedPart {
    /// A turn of the engine.
    Turn {
        /// When the engine was given the request.
        submitted: Instant,
        /// When the sequence began.
        began: Instant,
        /// When its first and last tokens came.
        tokens: Option<(Instant, Instant)>,
    },
    /// A call of a tool that the server ran.
    Tool {
        /// Its span, which the tool's server was told of.
        context: SpanContext,
        /// Label of the tool's server, as metrics have it.
        server: Arc<str>,
        /// When it began.
        began: Instant,
        /// When it ended.
        ended: Instant,
        /// `completed`, `failed` or `cancelled`.
        outcome: &'static str,
    },
}

/// Trace of an answer. Clones are the same trace.
#[derive(Debug, Clone)]
pub struct Trace(Arc<State>);

#[derive(Debug)]
struct State {
    context: SpanContext,
    /// `None`: the context is only passed on.
    parts: Option<Mutex<Vec<TracedPart>>>,
}

impl Trace {
    /// The trace of an answer whose span this is. Its parts are noted.
    pub fn noted(context: SpanContext) -> Self {
        Self(Arc::new(State { context, parts: Some(Mutex::default()) }))
    }

    /// A trace that is only passed on.
    pub fn passed_on(context: SpanContext) -> Self {
        Self(Arc::new(State { context, parts: None }))
    }

    /// The answer's span.
    pub fn context(&self) -> &SpanContext {
        &self.0.context
    }

    /// Notes a part.
    pub fn note(&self, part: impl FnOnce() -> TracedPart) {
        let Some(parts) = &self.0.parts else { return };
        let mut parts = parts.lock().unwrap_or_else(PoisonError::into_inner);
        if parts.len() < MOST_PARTS {
            parts.push(part());
        }
    }

    /// Takes the parts so far.
    pub fn take_parts(&self) -> Vec<TracedPart> {
        let Some(parts) = &self.0.parts else { return Vec::new() };
        std::mem::take(&mut *parts.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A call of a tool begins on this server.
    pub fn tool(&self, server: Arc<str>) -> ToolCallSpan {
        ToolCallSpan {
            trace: self.clone(),
            context: self.0.context.child(),
            server,
            began: Instant::now(),
            outcome: "cancelled",
        }
    }
}

/// Jobs with the same trace are equal.
impl PartialEq for Trace {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A call of a tool under way. It is noted when it is dropped.
pub struct ToolCallSpan {
    trace: Trace,
    context: SpanContext,
    server: Arc<str>,
    began: Instant,
    /// `cancelled` until it ends otherwise.
    pub outcome: &'static str,
}

impl ToolCallSpan {
    /// The context for the tool's server: the call's span, or the caller's where nothing is noted.
    pub fn context(&self) -> &SpanContext {
        if self.trace.0.parts.is_some() { &self.context } else { self.trace.context() }
    }
}

impl Drop for ToolCallSpan {
    fn drop(&mut self) {
        let Self { trace, context, server, began, outcome } = self;
        trace.note(|| TracedPart::Tool {
            context: context.clone(),
            server: Arc::clone(server),
            began: *began,
            ended: Instant::now(),
            outcome,
        });
    }
}

//! Trace of an answer, as its turns write it: lines of JSON (docs/inspector.md) that wait until it is
//! known which events they led to.
//!
//! Invariant: an answer without a trace pays nothing for it, and nothing waits for a trace.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use engine::{Finish, StepOutput, Token};
use parsers::trace::{CallLog, ParserCall, payload_name};
use serde_json::{Map, Value, json};

use crate::record::line::Line;
use crate::text::StreamText;
use crate::traced_prompt::TracedPrompt;
use prompt::Tokenizer;
use turn::{ItemHead, ItemStatus, Phase, TurnEnd, TurnEvent, Usage};

/// Trace of one answer. Clones are the same trace.
#[derive(Debug, Clone)]
pub struct AnswerTrace(Arc<Shared>);

struct Shared {
    began: Instant,
    /// Whether nobody keeps its lines any longer.
    is_closed: AtomicBool,
    lines: Mutex<Lines>,
}

/// Function that takes each line as it is written.
pub type LineSink = Box<dyn FnMut(Map<String, Value>) + Send>;

/// Where lines go.
enum Lines {
    /// They wait to be taken.
    Waiting(Vec<Map<String, Value>>),
    /// They are taken one by one.
    Taken(LineSink),
}

impl AnswerTrace {
    /// The trace of an answer whose request came at `began`.
    pub fn new(began: Instant) -> Self {
        Self::with(began, Lines::Waiting(Vec::new()))
    }

    /// A trace whose lines `sink` takes as they are written, so that none waits.
    pub fn into_sink(began: Instant, sink: LineSink) -> Self {
        Self::with(began, Lines::Taken(sink))
    }

    fn with(began: Instant, lines: Lines) -> Self {
        Self(Arc::new(Shared { began, is_closed: AtomicBool::new(false), lines: Mutex::new(lines) }))
    }

    /// Adds no line from now on.
    pub fn close(&self) {
        self.0.is_closed.store(true, Ordering::Relaxed);
        self.take();
    }

    fn is_closed(&self) -> bool {
        self.0.is_closed.load(Ordering::Relaxed)
    }

    /// Adds a line of this type; its time is now.
    pub fn push(&self, kind: &str, fields: Value) {
        if self.is_closed() {
            return;
        }
        let mut line = Map::new();
        line.insert("type".to_owned(), kind.into());
        line.insert("ms".to_owned(), json!(milliseconds(self.0.began.elapsed())));
        if let Value::Object(fields) = fields {
            line.extend(fields);
        }
        match &mut *self.lines() {
            Lines::Waiting(waiting) => waiting.push(line),
            Lines::Taken(sink) => sink(line),
        }
    }

    /// Adds the line of an input of the answer's, if it is one that traces have.
    pub(crate) fn input(&self, line: &Line) {
        match line {
            Line::Tool(tool) => {
                let (output, error) = (tool.result.as_ref().ok(), tool.result.as_ref().err());
                self.push("tool", json!({ "call_id": tool.call_id, "output": output, "error": error }));
            }
            Line::Listed(listed) => {
                let tools = listed.tools.as_ref().map(Vec::len).unwrap_or_default();
                let fields = json!({
                    "server": listed.server, "tools": tools, "error": listed.tools.as_ref().err(),
                });
                self.push("listed", fields);
            }
            Line::Cancel(failure) => self.push("cancel", json!({ "code": failure.code })),
            _ => {}
        }
    }

    /// Takes the lines since the last call.
    pub fn take(&self) -> Vec<Map<String, Value>> {
        match &mut *self.lines() {
            Lines::Waiting(waiting) => std::mem::take(waiting),
            Lines::Taken(_) => Vec::new(),
        }
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.0.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Milliseconds since the request.
    pub fn age(&self) -> f64 {
        milliseconds(self.0.began.elapsed())
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("began", &self.began).finish_non_exhaustive()
    }
}

/// A time in milliseconds, to the microsecond.
fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

/// Trace of one turn of an answer.
pub(crate) struct TurnTrace {
    trace: AnswerTrace,
    /// Calls of the turn's parser.
    pub(crate) calls: CallLog,
    generation: u32,
    steps: u32,
    /// Number of the items so far, the open one included.
    items: usize,
    /// Number of bytes of the open item.
    bytes: usize,
}

impl TurnTrace {
    /// The trace of a turn that begins with this prompt.
    pub(crate) fn new(trace: AnswerTrace, generation: u32, prompt: TracedPrompt) -> Self {
        trace.push("prompt", prompt.into_fields());
        Self { trace, calls: CallLog::default(), generation, steps: 0, items: 0, bytes: 0 }
    }

    /// Whether lines are still kept; else the calls so far are forgotten.
    pub(crate) fn is_kept(&self) -> bool {
        let is_kept = !self.trace.is_closed();
        if !is_kept {
            self.calls.take();
        }
        is_kept
    }

    /// Adds the line of a step that took `time`, with the events that it brought.
    pub(crate) fn step(&mut self, step: TracedTokens, events: &[TurnEvent], time: Duration) {
        self.steps += 1;
        let TracedTokens { tokens, cached, finish } = step;
        let fields = json!({
            "turn": self.generation,
            "step": self.steps,
            "cached": cached,
            "tokens": tokens,
            "calls": self.calls(),
            "items": self.items(events),
            "finish": finish,
            "parse_us": u64::try_from(time.as_micros()).unwrap_or(u64::MAX),
        });
        self.trace.push("step", fields);
    }

    /// Adds the line of the turn's end.
    pub(crate) fn end(&mut self, end: &TurnEnd, usage: Usage, fault: Option<&str>, events: &[TurnEvent]) {
        let why = match end {
            TurnEnd::Failed(failure) => Some(&failure.message),
            _ => None,
        };
        let fields = json!({
            "turn": self.generation,
            "end": crate::record::word_of(end),
            "usage": usage_json(usage),
            "fault": fault,
            "why": why,
            "calls": self.calls(),
            "items": self.items(events),
        });
        self.trace.push("turn-end", fields);
    }

    fn calls(&self) -> Vec<Value> {
        self.calls.take().iter().map(ParserCall::to_json).collect()
    }

    fn items(&mut self, events: &[TurnEvent]) -> Vec<Value> {
        let item = |event: &TurnEvent| match event {
            TurnEvent::Open(head) => {
                self.items += 1;
                self.bytes = 0;
                Some(json!({ "item": self.items - 1, "open": head_json(head) }))
            }
            TurnEvent::Text(delta) => {
                let from = self.bytes;
                self.bytes += delta.text.len();
                let item = self.items.saturating_sub(1);
                Some(json!({ "item": item, "range": [from, self.bytes], "text": delta.text }))
            }
            TurnEvent::Close(status) => {
                let status = match status {
                    ItemStatus::Completed => "completed",
                    ItemStatus::Incomplete => "incomplete",
                };
                Some(json!({ "item": self.items.saturating_sub(1), "close": status }))
            }
            _ => None,
        };
        events.iter().filter_map(item).collect()
    }
}

/// The tokens of a step, as a trace has them.
pub(crate) struct TracedTokens {
    tokens: Vec<Value>,
    cached: usize,
    finish: Value,
}

impl TracedTokens {
    /// Those of a step.
    pub(crate) fn of(step: &StepOutput, text: &StreamText) -> Self {
        let tokenizer = text.tokenizer();
        let finish = match &step.finish {
            None => Value::Null,
            Some(Finish::Stop(id)) => json!({ "stop": id }),
            Some(Finish::Length) => json!("length"),
            Some(Finish::Error(error)) => json!({ "error": error.kind() }),
            Some(Finish::Refused(error)) => json!({ "error": error.to_string() }),
        };
        let tokens = step.tokens.iter().map(|token| token_json(token, tokenizer)).collect();
        Self { tokens, cached: step.cached_tokens, finish }
    }
}

fn token_json(token: &Token, tokenizer: &Tokenizer) -> Value {
    let mut json = json!({ "id": token.id });
    match String::from_utf8(tokenizer.token(token.id)) {
        Ok(text) => json["text"] = text.into(),
        Err(error) => json["bytes"] = system::random::to_hex(error.as_bytes()).into(),
    }
    if let Some(logprobs) = &token.logprobs {
        json["logprob"] = json!(logprobs.chosen);
    }
    json
}

fn head_json(head: &ItemHead) -> Value {
    match head {
        ItemHead::Reasoning => json!({ "type": "reasoning" }),
        ItemHead::Message { phase: Phase::Unspecified } => json!({ "type": "message" }),
        ItemHead::Message { phase } => json!({ "type": "message", "phase": phase.name() }),
        ItemHead::ToolCall { call_id, name, payload } => {
            json!({ "type": "tool_call", "call_id": call_id, "name": name, "payload": payload_name(*payload) })
        }
    }
}

/// Counts of tokens as JSON.
pub fn usage_json(usage: Usage) -> Value {
    json!({
        "input_tokens": usage.input_tokens,
        "cached_tokens": usage.cached_tokens,
        "output_tokens": usage.output_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
    })
}

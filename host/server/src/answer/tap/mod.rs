//! Traces of the answers of this process, for those who look into them (docs/inspector.md).
//!
//! Invariants: the last [`ANSWERS`] answers are listed; a trace keeps its first line and its newest
//! [`TRACE_BYTES`], all traces together [`ALL_BYTES`]; an answer never waits for its trace.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::answer::log::{EventLog, LogReader, LogWriter, Policy, ReadError, event_log};
use api::event_buffer::EventBuffer;
use model::trace::{AnswerTrace, usage_json};
use turn::Usage;

/// Number of answers that are listed.
const ANSWERS: usize = 64;
/// Bytes of lines that one trace keeps.
const TRACE_BYTES: usize = 4 << 20;
/// Bytes of lines that all traces keep.
const ALL_BYTES: usize = 64 << 20;

/// The traces of this process.
#[derive(Default)]
pub struct Taps {
    answers: Arc<Listed>,
    next: AtomicU64,
}

/// The listed answers, oldest first.
#[derive(Default)]
struct Listed(Mutex<VecDeque<Arc<Tap>>>);

/// The trace of one answer, as its readers know it.
struct Tap {
    id: u64,
    /// Facts about the answer that never change.
    facts: Map<String, Value>,
    /// `None` once its lines are no longer kept.
    log: Mutex<Option<EventLog>>,
    /// Bytes of lines that are kept.
    bytes: AtomicUsize,
    state: Mutex<TapState>,
}

#[derive(Debug, Clone)]
struct TapState {
    state: String,
    steps: u64,
    tokens: u64,
}

/// A reader of one answer's trace.
pub(crate) struct TapReader {
    /// The first line, if it was asked for and the log has dropped it.
    pub(crate) first: Option<String>,
    pub(crate) lines: LogReader,
}

/// Writer of one answer's trace, held by the answer.
pub(crate) struct TapWriter {
    tap: Arc<Tap>,
    listed: Arc<Listed>,
    trace: AnswerTrace,
    /// `None` once the answer has ended, or its lines are no longer kept.
    log: Option<LogWriter>,
    buffer: EventBuffer,
    lines: u64,
    events: u64,
    usage: Usage,
    phases: Phases,
}

/// Times of an answer, in milliseconds.
#[derive(Debug, Default)]
struct Phases {
    prompt: Option<f64>,
    first_step: Option<f64>,
    last_step: f64,
    parse: f64,
    send: f64,
}

impl Taps {
    /// Begins the trace of an answer with these facts, of which `trace` gets the lines.
    pub(crate) fn begin(&self, facts: Map<String, Value>, trace: AnswerTrace) -> TapWriter {
        let (log, _) = event_log(Policy::Continue { kept_bytes: TRACE_BYTES });
        let tap = Arc::new(Tap {
            id: self.next.fetch_add(1, Ordering::Relaxed) + 1,
            facts,
            log: Mutex::new(Some(log.log())),
            bytes: AtomicUsize::new(0),
            state: Mutex::new(TapState { state: "running".to_owned(), steps: 0, tokens: 0 }),
        });
        self.answers.lock().push_back(Arc::clone(&tap));
        self.answers.bound();
        let first = tap.first_line();
        let (phases, buffer, usage) = (Phases::default(), EventBuffer::new(), Usage::default());
        let listed = Arc::clone(&self.answers);
        let mut writer =
            TapWriter { tap, listed, trace, log: Some(log), buffer, lines: 0, events: 0, usage, phases };
        writer.line(first);
        writer.flush();
        writer
    }

    /// The answers, newest first.
    pub(crate) fn list_json(&self) -> Value {
        let answers: Vec<Value> = self.answers.lock().iter().rev().map(|tap| tap.to_json()).collect();
        json!({ "object": "list", "data": answers })
    }

    /// A reader of an answer's lines, or of those behind the line `after`, as far as they are kept.
    pub(crate) fn reader(&self, id: u64, after: Option<u64>) -> Option<TapReader> {
        let tap = Arc::clone(self.answers.lock().iter().find(|tap| tap.id == id)?);
        let log = tap.log().clone()?;
        let mut next = after.map_or(0, |after| after.saturating_add(1));
        let mut first = None;
        loop {
            match log.reader_from(next) {
                Ok(lines) => return Some(TapReader { first, lines }),
                Err(ReadError::Expired(gone)) => {
                    if next == 0 {
                        let mut line = tap.first_line();
                        line.insert("line".to_owned(), json!(0));
                        first = Some(Value::Object(line).to_string());
                    }
                    next = gone + 1;
                }
                Err(ReadError::BrokenOff) => return None,
            }
        }
    }
}

impl Listed {
    /// Takes the oldest answers off the list, and drops their lines, until the others keep the
    /// bounds.
    fn bound(&self) {
        let mut answers = self.lock();
        let bytes = |answers: &VecDeque<Arc<Tap>>| -> usize {
            answers.iter().map(|tap| tap.bytes.load(Ordering::Relaxed)).sum()
        };
        while answers.len() > ANSWERS || bytes(&answers) > ALL_BYTES {
            let Some(oldest) = answers.pop_front() else { return };
            *oldest.log() = None;
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Tap>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tap {
    /// The line that says what the answer is, without its number.
    fn first_line(&self) -> Map<String, Value> {
        let mut first = Map::from_iter([("type".to_owned(), json!("answer"))]);
        first.insert("id".to_owned(), json!(self.id.to_string()));
        first.extend(self.facts.clone());
        first
    }

    fn to_json(&self) -> Value {
        let TapState { state, steps, tokens } = self.lock().clone();
        let mut json = json!({ "id": self.id.to_string(), "state": state, "steps": steps, "tokens": tokens });
        let shown = ["request_id", "model", "protocol", "began_at", "parser", "record"];
        for key in shown {
            json[key] = self.facts.get(key).cloned().unwrap_or_default();
        }
        json
    }

    fn log(&self) -> MutexGuard<'_, Option<EventLog>> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, TapState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TapWriter {
    /// Writes the lines that wait, which led to so many events; `sent` is the time until they were in
    /// the answer's log.
    pub(crate) fn events(&mut self, count: usize, sent: Option<Duration>) {
        let first = self.events;
        self.events += count as u64;
        let mut waiting = self.trace.take();
        let last = waiting.len().saturating_sub(1);
        for (index, line) in waiting.iter_mut().enumerate() {
            // What came together is sent together: the events are the last line's.
            let events = if index == last { [first, self.events] } else { [first, first] };
            line.insert("events".to_owned(), json!(events));
            line.insert(
                "send_us".to_owned(),
                json!(sent.map(|time| u64::try_from(time.as_micros()).unwrap_or(u64::MAX))),
            );
        }
        self.phases.send += sent.map_or(0.0, |time| time.as_secs_f64() * 1e3);
        for line in waiting {
            self.count(&line);
            self.line(line);
        }
        self.flush();
    }

    /// Adds the usage of a choice that has ended.
    pub(crate) fn usage(&mut self, usage: Usage) {
        self.usage += usage;
    }

    /// Writes the last line.
    pub(crate) fn end(&mut self, state: &str) {
        self.events(0, None);
        let Phases { prompt, first_step, last_step, parse, send } = self.phases;
        let prompt = prompt.unwrap_or_default();
        let first = first_step.unwrap_or(prompt);
        let line = json!({
            "type": "end",
            "ms": self.trace.age(),
            "state": state,
            "events": self.events,
            "usage": usage_json(self.usage),
            "phases": {
                "prepare_ms": prompt, "queue_prefill_ms": first - prompt,
                "decode_ms": (last_step - first).max(0.0), "parse_ms": parse, "send_ms": send,
            },
        });
        if let Value::Object(line) = line {
            self.line(line);
        }
        state.clone_into(&mut self.tap.lock().state);
        if let Some(log) = self.log.take() {
            log.finish(&mut self.buffer);
        }
    }

    fn count(&mut self, line: &Map<String, Value>) {
        let ms = line.get("ms").and_then(Value::as_f64).unwrap_or_default();
        match line.get("type").and_then(Value::as_str) {
            Some("prompt") => {
                self.phases.prompt.get_or_insert(ms);
            }
            Some("step") => {
                self.phases.first_step.get_or_insert(ms);
                self.phases.last_step = ms;
                let parsed = line.get("parse_us").and_then(Value::as_f64).unwrap_or_default();
                self.phases.parse += parsed / 1e3;
                let mut state = self.tap.lock();
                state.steps += 1;
                // The token that ended the turn is in no step's list, and counts all the same.
                let ended = line.get("finish").is_some_and(|finish| finish.get("stop").is_some());
                let tokens = line.get("tokens").and_then(Value::as_array).map_or(0, Vec::len);
                state.tokens += tokens as u64 + u64::from(ended);
            }
            _ => {}
        }
    }

    fn line(&mut self, mut line: Map<String, Value>) {
        line.insert("line".to_owned(), json!(self.lines));
        self.lines += 1;
        self.buffer.push(None, &line);
    }

    /// Appends the lines to the log, unless they are no longer kept.
    fn flush(&mut self) {
        if self.log.is_some() && self.tap.log().is_none() {
            self.log = None;
            self.trace.close();
        }
        match &self.log {
            Some(log) => {
                let added = self.buffer.json().len();
                let kept = self.tap.bytes.load(Ordering::Relaxed);
                self.tap.bytes.store((kept + added).min(TRACE_BYTES), Ordering::Relaxed);
                log.append(&mut self.buffer);
                self.listed.bound();
            }
            None => self.buffer.clear(),
        }
    }
}

impl Drop for TapWriter {
    /// An answer that is dropped was left by its client.
    fn drop(&mut self) {
        if self.log.is_some() {
            self.end("cancelled");
        }
    }
}

#[cfg(test)]
mod tests;

//! The recorder of one answer: hands each line to the writer's queue.
//!
//! Invariant: it never waits. A line that the queue has no room for is lost and counted, and the
//! record says so.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use system::{Clock, random};
use turn::{TurnEnd, Usage};

use super::incomplete::Incomplete;
use super::line::{EndLine, Line, LostLine, PromptLine};
use super::queue::{NewRecord, RecordQueue};

/// Recorder of one answer. Clones record the same answer.
#[derive(Debug, Clone)]
pub struct Recorder(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    queue: RecordQueue,
    record: Arc<NewRecord>,
    clock: Clock,
    began: u64,
    /// Whether body, prompts, events and outputs of tools are left out.
    redacts: bool,
    /// Lines that were lost since the last one that wasn't.
    lost: AtomicU64,
    all_lost: AtomicU64,
    events: Mutex<Events>,
}

/// What the record's end says of the events.
#[derive(Debug, Default)]
struct Events {
    hash: Sha256,
    count: u64,
    usage: Usage,
    has_fault: bool,
}

impl Recorder {
    /// A recorder of the answer whose clock shows the request's time.
    pub(super) fn new(queue: RecordQueue, record: NewRecord, clock: Clock, redacts: bool) -> Self {
        let record = Arc::new(record);
        let (lost, all_lost, events) = (AtomicU64::default(), AtomicU64::default(), Mutex::default());
        let began = clock.millis();
        Self(Arc::new(Shared { queue, record, clock, began, redacts, lost, all_lost, events }))
    }

    /// Moves the answer's clock to now, and returns the milliseconds since the request.
    pub fn tick(&self) -> u64 {
        self.0.clock.tick().saturating_sub(self.0.began)
    }

    /// Writes a line.
    pub fn line(&self, line: &Line) {
        let Shared { queue, record, lost, all_lost, redacts, .. } = &*self.0;
        let text = match line {
            Line::Tool(tool) if *redacts => {
                let result = tool.result.clone().map(|_| String::new()).map_err(|_| String::new());
                text(&Line::Tool(super::line::ToolLine { result, ..tool.clone() }))
            }
            line => text(line),
        };
        let missing = lost.load(Ordering::Relaxed);
        let missing = (missing > 0).then(|| self::text(&Line::Lost(LostLine { lines: missing })));
        let text = missing.into_iter().flatten().chain(text).collect::<Vec<u8>>();
        if queue.push(record, text) {
            lost.store(0, Ordering::Relaxed);
        } else {
            lost.fetch_add(1, Ordering::Relaxed);
            if all_lost.fetch_add(1, Ordering::Relaxed) == 0 {
                Incomplete::Queue.count();
            }
        }
    }

    /// Writes the line of a generation.
    pub(crate) fn prompt(&self, prompt: PromptLine) {
        let ids = prompt.ids.filter(|_| !self.0.redacts);
        self.line(&Line::Prompt(Box::new(PromptLine { ids, ..prompt })));
    }

    /// Writes events as JSON, in the form in which they are compared.
    pub fn events<'a>(&self, events: impl Iterator<Item = &'a [u8]>) {
        let mut raw = Vec::new();
        let mut state = self.0.events.lock().unwrap_or_else(PoisonError::into_inner);
        for event in events {
            state.hash.update(event);
            state.hash.update(b"\n");
            state.count += 1;
            let text = std::str::from_utf8(event).ok().filter(|_| !self.0.redacts);
            raw.extend(text.and_then(|text| RawValue::from_string(text.to_owned()).ok()));
        }
        drop(state);
        if !raw.is_empty() {
            self.line(&Line::Events(raw));
        }
    }

    /// Notes a fault of a parser, which makes the answer one that failed.
    pub(crate) fn has_fault(&self) {
        self.0.events.lock().unwrap_or_else(PoisonError::into_inner).has_fault = true;
    }

    /// Notes the usage of a choice that has ended.
    pub fn usage(&self, usage: Usage) {
        self.0.events.lock().unwrap_or_else(PoisonError::into_inner).usage += usage;
    }

    /// Writes the last line.
    pub fn end(&self, end: &TurnEnd) {
        let events = std::mem::take(&mut *self.0.events.lock().unwrap_or_else(PoisonError::into_inner));
        let Usage { input_tokens, cached_tokens, output_tokens, reasoning_tokens } = events.usage;
        let sha256 = random::to_hex(&events.hash.finalize());
        let lost = self.0.all_lost.load(Ordering::Relaxed);
        let usage = [input_tokens, cached_tokens, output_tokens, reasoning_tokens];
        let word = word_of(end).to_owned();
        self.line(&Line::End(EndLine { end: word, sha256, events: events.count, lost, usage }));
        let has_failed = matches!(end, TurnEnd::Failed(_)) || events.has_fault;
        self.0.queue.ended(self.0.record.answer, has_failed);
    }

    /// Name of the record's file.
    pub fn name(&self) -> &str {
        &self.0.record.name
    }

    /// Takes the record back: the request was refused.
    pub fn discard(&self) {
        self.0.queue.discard(self.0.record.answer);
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.queue.left(self.record.answer);
    }
}

/// Digest of events as a record's end has it.
pub fn digest<'a>(events: impl Iterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    for event in events {
        hash.update(event);
        hash.update(b"\n");
    }
    random::to_hex(&hash.finalize())
}

/// An end in one word.
pub fn word_of(end: &TurnEnd) -> &str {
    match end {
        TurnEnd::Completed => "completed",
        TurnEnd::MaxOutputTokens => "max_output_tokens",
        TurnEnd::Cancelled => "cancelled",
        TurnEnd::Failed(failure) => failure.code,
    }
}

fn text(line: &Line) -> Vec<u8> {
    let mut text = serde_json::to_vec(line).expect("lines are JSON");
    text.push(b'\n');
    text
}

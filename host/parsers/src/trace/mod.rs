//! Recorder around a parser: records its calls, its answers, and the resources that it used, for
//! conformance and for traces of answers.

mod json;

pub use json::payload_name;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use contract::{Fault, FinishReason, ResourceUsage, SendParser, Step, StreamParser};

/// Input of one call of a parser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallInput {
    /// A chunk of text.
    Text(String),
    /// A marker, by its index in the descriptor.
    Marker(u32),
    /// The end of the turn, with its reason.
    Finish(FinishReason),
}

/// One call of a parser and its answer.
#[derive(Debug, Clone)]
pub struct ParserCall {
    /// Input of the call.
    pub input: CallInput,
    /// The parser's answer, or its fault.
    pub answer: Result<Step, Fault>,
}

/// Calls recorded since they were last taken, shared between the recorder and its reader.
#[derive(Debug, Clone, Default)]
pub struct CallLog(Arc<Mutex<CallLogState>>);

#[derive(Debug, Default)]
struct CallLogState {
    calls: Vec<ParserCall>,
    usage: Option<ResourceUsage>,
}

impl CallLog {
    /// Wraps `parser` so that its calls are recorded here.
    pub fn of(&self, parser: SendParser) -> SendParser {
        self.lock().usage = parser.usage();
        Box::new(Recorder { parser, log: self.clone() })
    }

    /// Takes the calls recorded since the last time.
    pub fn take(&self) -> Vec<ParserCall> {
        std::mem::take(&mut self.lock().calls)
    }

    /// Resources that the parser has used, if it is metered.
    pub fn usage(&self) -> Option<ResourceUsage> {
        self.lock().usage
    }

    fn lock(&self) -> MutexGuard<'_, CallLogState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Recorder {
    parser: SendParser,
    log: CallLog,
}

impl Recorder {
    fn note(&self, input: CallInput, answer: &Result<Step, Fault>) {
        let usage = self.parser.usage();
        let mut state = self.log.lock();
        state.calls.push(ParserCall { input, answer: answer.clone() });
        state.usage = usage.or(state.usage);
    }
}

impl StreamParser for Recorder {
    fn text(&mut self, chunk: &str) -> Result<Step, Fault> {
        let answer = self.parser.text(chunk);
        self.note(CallInput::Text(chunk.to_owned()), &answer);
        answer
    }

    fn marker(&mut self, index: u32) -> Result<Step, Fault> {
        let answer = self.parser.marker(index);
        self.note(CallInput::Marker(index), &answer);
        answer
    }

    fn finish(&mut self, reason: FinishReason) -> Result<Step, Fault> {
        let answer = self.parser.finish(reason);
        self.note(CallInput::Finish(reason), &answer);
        answer
    }

    fn usage(&self) -> Option<ResourceUsage> {
        self.parser.usage()
    }
}

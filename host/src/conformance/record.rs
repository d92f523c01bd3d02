//! A parser that is listened to: what it was asked, what it answered, and what that cost.

use std::sync::{Arc, Mutex, MutexGuard};

use crate::parser::contract::{Fault, FinishReason, Step, StreamParser, Used};

/// What a parser was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// Text.
    Text(String),
    /// A marker.
    Marker(u32),
    /// The end.
    Finish(FinishReason),
}

/// One question and its answer.
#[derive(Debug, Clone)]
pub struct ParserCall {
    /// The question.
    pub asked: Question,
    /// The answer.
    pub answer: Result<Step, Fault>,
}

/// What was heard since it was last taken, shared between the parser and who listens.
#[derive(Debug, Clone, Default)]
pub(super) struct Record(Arc<Mutex<Heard>>);

#[derive(Debug, Default)]
struct Heard {
    calls: Vec<ParserCall>,
    used: Option<Used>,
}

impl Record {
    /// `parser`, listened to.
    pub(super) fn of(&self, parser: Box<dyn StreamParser>) -> Box<dyn StreamParser> {
        self.heard().used = parser.used();
        Box::new(Recorder { parser, record: self.clone() })
    }

    /// The calls since the last time.
    pub(super) fn take(&self) -> Vec<ParserCall> {
        std::mem::take(&mut self.heard().calls)
    }

    /// What the parser has used, where that is counted.
    pub(super) fn used(&self) -> Option<Used> {
        self.heard().used
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.0.lock().expect("nothing panics while it listens")
    }
}

struct Recorder {
    parser: Box<dyn StreamParser>,
    record: Record,
}

impl Recorder {
    fn note(&self, asked: Question, answer: &Result<Step, Fault>) {
        let used = self.parser.used();
        let mut heard = self.record.heard();
        heard.calls.push(ParserCall { asked, answer: answer.clone() });
        heard.used = used.or(heard.used);
    }
}

impl StreamParser for Recorder {
    fn text(&mut self, chunk: &str) -> Result<Step, Fault> {
        let answer = self.parser.text(chunk);
        self.note(Question::Text(chunk.to_owned()), &answer);
        answer
    }

    fn marker(&mut self, index: u32) -> Result<Step, Fault> {
        let answer = self.parser.marker(index);
        self.note(Question::Marker(index), &answer);
        answer
    }

    fn finish(&mut self, reason: FinishReason) -> Result<Step, Fault> {
        let answer = self.parser.finish(reason);
        self.note(Question::Finish(reason), &answer);
        answer
    }

    fn used(&self) -> Option<Used> {
        self.parser.used()
    }
}

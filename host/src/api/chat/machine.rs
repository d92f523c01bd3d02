//! From a turn's events to chat chunks, and to the same answer in one piece. The protocol has one text, one reasoning and a list of calls:
//! further items of a kind are joined to the first by an empty line.

use super::super::error::{ApiError, cancelled};
use super::super::frames::Frames;
use super::super::machine::Machine;
use super::chunks::{
    Answer, Call, CallDelta, Chunk, ChunkChoice, ChunkUsage, Completion, CompletionChoice, Delta, Function,
    FunctionDelta,
};
use crate::turn::{ItemHead, TurnEnd, TurnEvent, TurnFailure, Usage};

/// Between two items that become one text.
const JOINT: &str = "\n\n";

/// Where the open item's text goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Content,
    Reasoning,
    Call,
}

/// The chunk machine of one completion.
#[derive(Debug)]
pub struct ChatMachine {
    head: Head,
    answer: Answer,
    target: Target,
    /// The joint goes before the next text.
    joint: bool,
    finish_reason: &'static str,
    usage: Usage,
    failure: Option<TurnFailure>,
}

/// What every chunk repeats.
#[derive(Debug)]
struct Head {
    id: String,
    created: u64,
    model: String,
    include_usage: bool,
}

impl Head {
    fn send(&self, choices: &[ChunkChoice<'_>], usage: ChunkUsage, frames: &mut Frames) {
        let Self { id, created, model, .. } = self;
        let object = "chat.completion.chunk";
        frames.push(None, &Chunk { id, object, created: *created, model, choices, usage });
    }

    fn delta(&self, delta: Delta<'_>, frames: &mut Frames) {
        self.choice(ChunkChoice { index: 0, delta, logprobs: None, finish_reason: None }, frames);
    }

    fn choice(&self, choice: ChunkChoice<'_>, frames: &mut Frames) {
        let usage = if self.include_usage { ChunkUsage::Later(None) } else { ChunkUsage::Unwanted };
        self.send(&[choice], usage, frames);
    }
}

impl ChatMachine {
    /// A machine for an answer to a request for `model`.
    pub(super) fn new(id: String, created: u64, model: String, include_usage: bool) -> Self {
        Self {
            head: Head { id, created, model, include_usage },
            answer: Answer {
                role: "assistant",
                content: None,
                refusal: None,
                reasoning_content: None,
                reasoning: None,
                tool_calls: Vec::new(),
            },
            target: Target::Content,
            joint: false,
            finish_reason: "stop",
            usage: Usage::default(),
            failure: None,
        }
    }

    fn open(&mut self, head: &ItemHead, frames: &mut Frames) {
        self.target = match head {
            ItemHead::Reasoning => Target::Reasoning,
            ItemHead::Message { .. } => Target::Content,
            ItemHead::ToolCall { .. } => Target::Call,
        };
        self.joint = match self.target {
            Target::Content => self.answer.content.is_some(),
            Target::Reasoning => self.answer.reasoning.is_some(),
            Target::Call => false,
        };
        if let ItemHead::ToolCall { call_id, name, .. } = head {
            self.open_call(call_id, name, frames);
        }
    }

    fn open_call(&mut self, id: &str, name: &str, frames: &mut Frames) {
        let function = FunctionDelta { name: Some(name), arguments: "" };
        let index = self.answer.tool_calls.len();
        let call = CallDelta { index, id: Some(id), kind: Some("function"), function };
        self.head.delta(Delta { tool_calls: Some([call]), ..Delta::default() }, frames);
        let function = Function { name: name.to_owned(), arguments: String::new() };
        self.answer.tool_calls.push(Call { id: id.to_owned(), kind: "function", function });
    }

    fn text(&mut self, text: &str, frames: &mut Frames) {
        let answer = &mut self.answer;
        let delta = match self.target {
            Target::Content => {
                answer.content.get_or_insert_default().push_str(text);
                Delta { content: Some(text), ..Delta::default() }
            }
            Target::Reasoning => {
                answer.reasoning.get_or_insert_default().push_str(text);
                Delta { reasoning_content: Some(text), reasoning: Some(text), ..Delta::default() }
            }
            Target::Call => {
                let Some(call) = answer.tool_calls.last_mut() else { return };
                call.function.arguments.push_str(text);
                let function = FunctionDelta { name: None, arguments: text };
                let call = CallDelta { index: answer.tool_calls.len() - 1, id: None, kind: None, function };
                Delta { tool_calls: Some([call]), ..Delta::default() }
            }
        };
        self.head.delta(delta, frames);
    }

    fn finish_reason(&self, end: &TurnEnd) -> &'static str {
        if *end == TurnEnd::MaxOutputTokens {
            return "length";
        }
        if self.answer.tool_calls.is_empty() { "stop" } else { "tool_calls" }
    }

    fn fail(&mut self, failure: TurnFailure, frames: &mut Frames) {
        frames.push(None, &ApiError::turn(&failure).envelope());
        self.failure = Some(failure);
    }
}

impl Machine for ChatMachine {
    fn begin(&mut self, frames: &mut Frames) {
        self.head.delta(Delta { role: Some("assistant"), content: Some(""), ..Delta::default() }, frames);
    }

    fn turn(&mut self, event: &TurnEvent, frames: &mut Frames) {
        match event {
            TurnEvent::Open(head) => self.open(head, frames),
            TurnEvent::Text(text) => {
                if std::mem::take(&mut self.joint) {
                    self.text(JOINT, frames);
                }
                self.text(text, frames);
            }
            TurnEvent::Close(_) => {}
        }
    }

    /// Nothing: chat clients know no event for it, and the transport's comments keep the connection.
    fn heartbeat(&mut self, _frames: &mut Frames) {}

    fn end(&mut self, end: &TurnEnd, usage: Usage, frames: &mut Frames) {
        self.usage = usage;
        self.answer.reasoning_content.clone_from(&self.answer.reasoning);
        match end {
            TurnEnd::Failed(failure) => self.fail(failure.clone(), frames),
            TurnEnd::Cancelled => self.fail(cancelled(), frames),
            TurnEnd::Completed | TurnEnd::MaxOutputTokens => {
                self.finish_reason = self.finish_reason(end);
                let finish_reason = Some(self.finish_reason);
                let last = ChunkChoice { index: 0, delta: Delta::default(), logprobs: None, finish_reason };
                self.head.choice(last, frames);
                if self.head.include_usage {
                    self.head.send(&[], ChunkUsage::Now(usage.into()), frames);
                }
            }
        }
        frames.push_done();
    }

    fn body(&self) -> (u16, String) {
        if let Some(failure) = &self.failure {
            let error = ApiError::turn(failure);
            return (error.status, error.body());
        }
        let choice = CompletionChoice {
            index: 0,
            message: &self.answer,
            logprobs: None,
            finish_reason: self.finish_reason,
        };
        let Head { id, created, model, .. } = &self.head;
        let completion = Completion {
            id,
            object: "chat.completion",
            created: *created,
            model,
            choices: [choice],
            usage: self.usage.into(),
        };
        (200, serde_json::to_string(&completion).expect("protocol types serialise"))
    }
}

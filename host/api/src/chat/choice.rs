//! Machine of one choice: makes deltas of a turn's events, and the message that the deltas add up
//! to.
//!
//! The protocol has one text, one reasoning and a list of calls: further items of a kind are joined
//! to the first by an empty line.

use super::chunks::{
    AssistantMessage, CallDelta, CallPart, ChunkChoice, CompletionChoice, Delta, MessageToolCall, PartDelta,
};
use super::logprobs::{ChosenToken, ContentLogprobs};
use super::stream::{OutputOptions, Stream};
use crate::event_buffer::EventBuffer;
use crate::token_ids::{TokenIds, UnsentIds};
use contract::Payload;
use model::{RawStep, RawTurn};
use turn::{self, ItemHead, TurnEnd, TurnEvent};

/// Separator between two items that become one text.
const JOINT: &str = "\n\n";

/// Where the open item's text goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Content,
    Reasoning,
    Call,
}

/// Machine of one choice; see the module.
#[derive(Debug)]
pub(super) struct ChoiceMachine {
    index: u32,
    answer: AssistantMessage,
    /// Tokens of the content with their log-probabilities, if the client asked for them.
    tokens: Option<Vec<ChosenToken>>,
    target: Target,
    /// Whether `JOINT` is written before the next text.
    joint: bool,
    finish_reason: &'static str,
    /// Token ids that no chunk has carried yet, if the client asked for them.
    unsent: Option<UnsentIds>,
    /// Tokens of the prompt and of the output: set at the turn's end, if the client asked for them.
    pub(super) raw: Option<RawTurn>,
}

impl ChoiceMachine {
    pub(super) fn new(index: u32, asked: OutputOptions) -> Self {
        let answer = AssistantMessage {
            role: "assistant",
            content: None,
            refusal: None,
            reasoning_content: None,
            reasoning: None,
            tool_calls: Vec::new(),
        };
        let tokens = asked.logprobs.then(Vec::new);
        Self {
            index,
            answer,
            tokens,
            target: Target::Content,
            joint: false,
            finish_reason: "stop",
            unsent: asked.token_ids.then(UnsentIds::default),
            raw: None,
        }
    }

    /// Writes the first chunk, which carries the role.
    pub(super) fn begin(&self, stream: &Stream, buffer: &mut EventBuffer) {
        let delta = Delta { role: Some("assistant"), content: Some(""), ..Delta::default() };
        stream.choice(self.delta(delta), buffer);
    }

    /// Takes the token ids of an engine step.
    pub(super) fn tokens(&mut self, step: &RawStep<'_>) {
        if let Some(unsent) = &mut self.unsent {
            unsent.take(step);
        }
    }

    /// Writes a chunk for the ids of a step that brought no other.
    pub(super) fn tokens_over(&mut self, stream: &Stream, buffer: &mut EventBuffer) {
        if self.unsent.as_ref().is_some_and(|unsent| !unsent.is_empty()) {
            self.send(self.delta(Delta::default()), stream, buffer);
        }
    }

    /// Writes a chunk, with the ids that are due.
    fn send(&mut self, choice: ChunkChoice<'_>, stream: &Stream, buffer: &mut EventBuffer) {
        match &mut self.unsent {
            Some(unsent) => unsent.send_all(|ids| stream.choice(ChunkChoice { ids, ..choice }, buffer)),
            None => stream.choice(choice, buffer),
        }
    }

    /// Writes the chunks for one event of the choice's turn.
    pub(super) fn turn(&mut self, event: &TurnEvent, stream: &Stream, buffer: &mut EventBuffer) {
        match event {
            TurnEvent::Open(head) => self.open(head, stream, buffer),
            TurnEvent::Text(delta) => {
                if std::mem::take(&mut self.joint) {
                    self.text(&JOINT.into(), stream, buffer);
                }
                self.text(delta, stream, buffer);
            }
            _ => {}
        }
    }

    /// Ends the choice and writes its finish reason. `end` is not a failure.
    pub(super) fn end(&mut self, end: &TurnEnd, stream: &Stream, buffer: &mut EventBuffer) {
        self.answer.reasoning_content.clone_from(&self.answer.reasoning);
        self.finish_reason = match end {
            TurnEnd::MaxOutputTokens => "length",
            _ if self.answer.tool_calls.is_empty() => "stop",
            _ => "tool_calls",
        };
        let finish_reason = Some(self.finish_reason);
        self.send(ChunkChoice { finish_reason, ..self.delta(Delta::default()) }, stream, buffer);
    }

    /// Whether the finished choice ends at the limit of tokens.
    pub(super) fn is_cut(&self) -> bool {
        self.finish_reason == "length"
    }

    /// The finished choice, as a completion in one piece carries it.
    pub(super) fn whole(&self) -> CompletionChoice<'_> {
        CompletionChoice {
            index: self.index,
            message: &self.answer,
            logprobs: self.tokens.as_deref().map(ContentLogprobs::new),
            finish_reason: self.finish_reason,
            ids: TokenIds::of(self.raw.as_ref()),
        }
    }

    fn delta<'a>(&self, delta: Delta<'a>) -> ChunkChoice<'a> {
        ChunkChoice {
            index: self.index,
            delta,
            logprobs: None,
            finish_reason: None,
            ids: TokenIds::default(),
        }
    }

    fn open(&mut self, head: &ItemHead, stream: &Stream, buffer: &mut EventBuffer) {
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
        if let ItemHead::ToolCall { call_id, name, payload } = head {
            self.open_call(call_id, name, *payload, stream, buffer);
        }
    }

    fn open_call(
        &mut self,
        id: &str,
        name: &str,
        payload: Payload,
        stream: &Stream,
        buffer: &mut EventBuffer,
    ) {
        let (given, owned) = (Some(name), name.to_owned());
        let (kind, delta, part) = match payload {
            Payload::Json => (
                "function",
                PartDelta::Function { name: given, arguments: "" },
                CallPart::Function { name: owned, arguments: String::new() },
            ),
            Payload::Text => (
                "custom",
                PartDelta::Custom { name: given, input: "" },
                CallPart::Custom { name: owned, input: String::new() },
            ),
        };
        let index = self.answer.tool_calls.len();
        let call = CallDelta { index, id: Some(id), kind: Some(kind), part: delta };
        self.send(self.delta(Delta { tool_calls: Some([call]), ..Delta::default() }), stream, buffer);
        self.answer.tool_calls.push(MessageToolCall { id: id.to_owned(), kind, part });
    }

    fn text(&mut self, text: &turn::Delta, stream: &Stream, buffer: &mut EventBuffer) {
        let mut chosen: Vec<ChosenToken> = Vec::new();
        let answer = &mut self.answer;
        let delta = match self.target {
            Target::Content => {
                answer.content.get_or_insert_default().push_str(text);
                if self.tokens.is_some() {
                    chosen.extend(text.tokens.iter().map(ChosenToken::from));
                }
                Delta { content: Some(text), ..Delta::default() }
            }
            Target::Reasoning => {
                answer.reasoning.get_or_insert_default().push_str(text);
                Delta { reasoning_content: Some(text), reasoning: Some(text), ..Delta::default() }
            }
            Target::Call => {
                let index = answer.tool_calls.len().saturating_sub(1);
                let Some(call) = answer.tool_calls.last_mut() else { return };
                let call = CallDelta { index, id: None, kind: None, part: call.part.push(text) };
                Delta { tool_calls: Some([call]), ..Delta::default() }
            }
        };
        let logprobs = (!chosen.is_empty()).then(|| ContentLogprobs::new(&chosen));
        self.send(ChunkChoice { logprobs, ..self.delta(delta) }, stream, buffer);
        if let Some(tokens) = &mut self.tokens {
            tokens.append(&mut chosen);
        }
    }
}

impl CallPart {
    /// Appends `text` and returns the delta for it.
    fn push<'a>(&mut self, text: &'a str) -> PartDelta<'a> {
        match self {
            Self::Function { arguments, .. } => {
                arguments.push_str(text);
                PartDelta::Function { name: None, arguments: text }
            }
            Self::Custom { input, .. } => {
                input.push_str(text);
                PartDelta::Custom { name: None, input: text }
            }
        }
    }
}

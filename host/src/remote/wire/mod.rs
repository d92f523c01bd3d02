//! What engines elsewhere speak, a module for each kind: a request becomes a body, and the events of the answer become tokens.
//!
//! Every field that decides what is generated is always sent: one left out would become the server's own default.

mod llamacpp;
mod logprobs;
mod openai;
mod sglang;
#[cfg(test)]
mod tests;
mod vllm;
mod vllm_params;

use engine::{Logprobs, SubmitError, Token};

use super::facts::Facts;
use super::request::RemoteRequest;

/// What an engine elsewhere is, by what it speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineKind {
    /// `/v1/completions` with token ids, as vLLM has it.
    OpenAi,
    /// vLLM's `/inference/v1/generate`.
    Vllm,
    /// SGLang's `/generate`.
    Sglang,
    /// llama.cpp's `/completion`.
    LlamaCpp,
}

impl EngineKind {
    pub(super) fn wire(self) -> &'static dyn Wire {
        match self {
            Self::OpenAi => &openai::OpenAi,
            Self::Vllm => &vllm::Vllm,
            Self::Sglang => &sglang::Sglang,
            Self::LlamaCpp => &llamacpp::LlamaCpp,
        }
    }
}

/// A protocol.
pub(super) trait Wire: Send + Sync {
    /// Where requests are posted to.
    fn path(&self) -> &'static str;
    /// Whether an engine with these facts can do what the request asks for.
    fn check(&self, request: &RemoteRequest, facts: &Facts) -> Result<(), Unsupported>;
    /// The body of a request that was checked. `id` names it where the protocol has names for requests.
    fn body(&self, request: &RemoteRequest, facts: &Facts, id: &str) -> Vec<u8>;
    /// A reader of the answer's events.
    fn reader(&self) -> Box<dyn WireReader>;
    /// Where and with what body a request is given up that a closed connection doesn't end.
    fn abort(&self, id: &str) -> Option<(&'static str, Vec<u8>)> {
        let _ = id;
        None
    }
}

/// What of a request can't be followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unsupported {
    /// As requests call it.
    pub(super) field: &'static str,
    /// Why not, behind the engine's name.
    pub(super) reason: &'static str,
}

impl Unsupported {
    pub(super) fn new(field: &'static str, reason: &'static str) -> Result<(), Self> {
        Err(Self { field, reason })
    }

    /// The constraint can't be followed.
    pub(super) fn constraint(reason: &'static str) -> Result<(), Self> {
        Self::new(SubmitError::CONSTRAINT, reason)
    }

    /// The refusal of an engine that is called `name`.
    pub(super) fn of(self, name: &str) -> SubmitError {
        SubmitError::Unsupported { field: self.field, reason: format!("the engine ({name}) {}", self.reason) }
    }
}

/// Reads the events of one answer.
pub(super) trait WireReader: Send {
    /// Adds what an event says to `chunk`. `data` is the event's data.
    fn read(&mut self, data: &[u8], chunk: &mut Chunk) -> Result<(), WireFault>;
}

/// What events said.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Chunk {
    /// What was generated, in order, the token that ends the answer included where the engine tells it.
    pub(super) pieces: Vec<Piece>,
    /// How the answer ended.
    pub(super) end: Option<WireEnd>,
    /// Prompt tokens that the engine had cached.
    pub(super) cached: Option<usize>,
    /// Nothing comes any more.
    pub(super) is_over: bool,
}

/// A piece of what was generated.
#[derive(Debug, PartialEq)]
pub(super) enum Piece {
    Token(Token),
    /// Text of tokens whose ids the engine doesn't tell.
    Text(String),
}

impl Chunk {
    /// Adds tokens with their log-probabilities, as far as there are any.
    fn push_tokens(&mut self, ids: &[u32], mut logprobs: impl Iterator<Item = Option<Box<Logprobs>>>) {
        let token = |id: &u32| Piece::Token(Token { id: *id, logprobs: logprobs.next().flatten() });
        self.pieces.extend(ids.iter().map(token));
    }

    /// The answer has ended so, if it has.
    fn end_as(&mut self, end: Option<WireEnd>) {
        self.end = end.or_else(|| self.end.take());
    }

    fn push_text(&mut self, text: &str) {
        if !text.is_empty() {
            self.pieces.push(Piece::Text(text.to_owned()));
        }
    }
}

/// How an answer ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WireEnd {
    /// With a stop: its id, where the engine says so.
    Stop(Option<u32>),
    /// At the limit.
    Length,
    /// The engine gave it up.
    Aborted(String),
}

/// An event that ends the answer as failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WireFault {
    /// It isn't what the protocol has. What is wrong, without the text of the answer.
    Unreadable(String),
    /// The engine's own error: its HTTP status, if it says one, and its words.
    Engine(Option<u16>, String),
}

/// Reads JSON of the protocol; an engine's error object, under whatever status, is a fault.
fn json<'a, T: serde::Deserialize<'a>>(data: &'a [u8]) -> Result<T, WireFault> {
    if data.starts_with(br#"{"error""#) || data.starts_with(br#"{"object":"error""#) {
        return Err(engine_error(data));
    }
    serde_json::from_slice(data).map_err(|error| {
        let fault = engine_error(data);
        let is_error = matches!(&fault, WireFault::Engine(_, words) if !words.is_empty());
        if is_error { fault } else { WireFault::Unreadable(format!("an event that can't be read: {error}")) }
    })
}

/// The error that a body or an event holds: `{"error": {"message", "code"}}`, `{"error": "…"}`, `{"message", "code"}` or `{"detail"}`.
pub(super) fn engine_error(data: &[u8]) -> WireFault {
    let value: serde_json::Value = serde_json::from_slice(data).unwrap_or_default();
    let error = value.get("error").unwrap_or(&value);
    let message = error.get("message").or_else(|| error.get("detail")).unwrap_or(error);
    let words = message.as_str().unwrap_or_default();
    let code = error.get("code").and_then(serde_json::Value::as_u64);
    WireFault::Engine(
        code.and_then(|code| u16::try_from(code).ok()).filter(|code| (100..600).contains(code)),
        crate::remote::words::plain(words),
    )
}

/// A body as JSON.
fn to_json(body: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(body).expect("bodies are plain values")
}

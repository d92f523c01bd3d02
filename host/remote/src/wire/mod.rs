//! Protocols of remote engines, a module for each kind: each writes a request as a body and reads
//! the answer's events as tokens.
//!
//! Every field that decides what is generated is sent in every request: the engine's own default
//! would apply to a field left out.

mod chunk;
mod llamacpp;
mod logprobs;
mod openai;
mod sglang;
#[cfg(test)]
mod tests;
mod vllm;
mod vllm_params;

use std::borrow::Cow;

use engine::SubmitError;

pub(super) use chunk::{Chunk, Piece, Room, TokenSource, WireEnd};

use super::facts::Facts;
use super::kind::EngineKind;
use super::request::RemoteRequest;
use super::schema::SchemaCompiler;

/// Protocol of a kind of engines.
pub(super) fn of(kind: EngineKind) -> &'static dyn Wire {
    match kind {
        EngineKind::OpenAi | EngineKind::Gateway => &openai::OpenAi,
        EngineKind::Vllm => &vllm::Vllm,
        EngineKind::Sglang => &sglang::Sglang,
        EngineKind::LlamaCpp => &llamacpp::LlamaCpp,
    }
}

/// Protocol of one kind of engine.
pub(super) trait Wire: Send + Sync {
    /// Path that requests are posted to.
    fn path(&self) -> &'static str;
    /// Checks that an engine with these facts can do what the request asks for.
    fn check(&self, request: &RemoteRequest, facts: &Facts) -> Result<(), Unsupported>;
    /// Body of a request that has passed `check`. `id` is the request's id, for protocols that have
    /// such ids.
    fn body(&self, request: &RemoteRequest, facts: &Facts, id: &str) -> Vec<u8>;
    /// Makes a reader of one answer's events, with the tokens of a prompt that is scored.
    fn reader(&self, scored_prompt: &[u32]) -> Box<dyn WireReader>;
    /// Path and body that abort the request `id`; none if closing the connection is enough.
    fn abort(&self, id: &str) -> Option<(&'static str, Vec<u8>)> {
        let _ = id;
        None
    }
}

/// Part of a request that an engine can't follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unsupported {
    /// Name of the field in requests.
    pub(super) field: &'static str,
    /// Reason, worded to follow the engine's name.
    pub(super) reason: Cow<'static, str>,
}

impl Unsupported {
    pub(super) fn new(field: &'static str, reason: impl Into<Cow<'static, str>>) -> Result<(), Self> {
        Err(Self { field, reason: reason.into() })
    }

    /// Checks a request for an engine of a kind that tells no log-probabilities of prompts.
    fn check_scores(request: &RemoteRequest) -> Result<(), Self> {
        if request.prompt_logprobs.is_none() {
            return Ok(());
        }
        Self::new(
            "echo",
            "tells no log-probabilities of prompts this way: leave out echo or logprobs, or ask a vLLM or another host of kind `openai`, or a model on this machine",
        )
    }

    /// Error for a constraint that can't be followed.
    pub(super) fn constraint(reason: impl Into<Cow<'static, str>>) -> Result<(), Self> {
        Self::new(SubmitError::CONSTRAINT, reason)
    }

    /// Checks that the engine follows all of the schema that it is sent.
    fn check_schema(request: &RemoteRequest, facts: &Facts) -> Result<(), Self> {
        let compiler = facts.schema_compiler();
        let Some(gap) = request.schema_gaps.for_compiler(compiler) else { return Ok(()) };
        let hint = match compiler {
            SchemaCompiler::LlamaCpp | SchemaCompiler::Llguidance => "",
            SchemaCompiler::Xgrammar => ": llguidance may, if the engine is started with it for grammars",
        };
        Self::constraint(format!("can't follow {gap} of the schema{hint}"))
    }

    /// Turns this into the error of the engine `name`.
    pub(super) fn of(self, name: &str) -> SubmitError {
        SubmitError::Unsupported { field: self.field, reason: format!("the engine ({name}) {}", self.reason) }
    }
}

/// Reader of one answer's events.
pub(super) trait WireReader: Send {
    /// Reads one event's `data` and adds its contents to `chunk`.
    fn read(&mut self, data: &[u8], chunk: &mut Chunk) -> Result<(), WireFault>;
}

/// A fault in an event, which ends the answer as failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WireFault {
    /// The event doesn't follow the protocol. The message says what is wrong, without the answer's
    /// text.
    Unreadable(String),
    /// An error that the engine reports: its HTTP status, if given, and its message.
    Engine(Option<u16>, String),
}

/// Reads JSON of the protocol. An engine's error object is a fault, whatever the HTTP status was.
fn json<'a, T: serde::Deserialize<'a>>(data: &'a [u8]) -> Result<T, WireFault> {
    if data.starts_with(br#"{"error""#) || data.starts_with(br#"{"object":"error""#) {
        return Err(engine_error(data));
    }
    serde_json::from_slice(data).map_err(|error| {
        let fault = engine_error(data);
        let is_error = matches!(&fault, WireFault::Engine(_, words) if !words.is_empty());
        // serde's own words may quote the event.
        let what = if error.is_data() { "is of another form than expected" } else { "is no JSON" };
        if is_error {
            fault
        } else {
            WireFault::Unreadable(format!("an event of {} bytes {what}", data.len()))
        }
    })
}

/// Reads the error in a body or an event: `{"error": {"message", "code"}}`, `{"error": "…"}`,
/// `{"message", "code"}` or `{"detail"}`.
pub(super) fn engine_error(data: &[u8]) -> WireFault {
    let value: serde_json::Value = serde_json::from_slice(data).unwrap_or_default();
    let error = value.get("error").unwrap_or(&value);
    let message = error.get("message").or_else(|| error.get("detail")).unwrap_or(error);
    let words = message.as_str().unwrap_or_default();
    let code = error.get("code").and_then(serde_json::Value::as_u64);
    WireFault::Engine(
        code.and_then(|code| u16::try_from(code).ok()).filter(|code| (100..600).contains(code)),
        crate::words::plain(words),
    )
}

/// Serialises a request body.
fn to_json(body: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(body).expect("bodies are plain values")
}

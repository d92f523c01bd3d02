//! Who a request is of and which chain it belongs to, as engines and gateways are told; and why a
//! gateway dropped it. Both are hashes: no name of a key and no id of a client leaves this server.

use http::{HeaderMap, HeaderName, HeaderValue};

use super::facts::Facts;
use super::kind::EngineKind;
use super::request::RemoteRequest;

/// Header of `OpenCode`, which llm-d's router reads as an agent's session, and another Sluice does.
const SESSION_AFFINITY: HeaderName = HeaderName::from_static("x-session-affinity");
/// Dynamo's header of a session.
const DYNAMO_SESSION: HeaderName = HeaderName::from_static("x-dynamo-session-id");
/// `AIBrix`' header of a session. `x-session-id` is a pod's address there, and is never sent to a
/// gateway.
const AIBRIX_SESSION: HeaderName = HeaderName::from_static("x-aibrix-session-key");
/// vLLM's header of a session, the only place where its `/inference/v1/generate` reads one.
const VLLM_SESSION: HeaderName = HeaderName::from_static("x-session-id");
/// Header by which llm-d's router is fair among the owners of requests.
const FAIRNESS: HeaderName = HeaderName::from_static("x-llm-d-inference-fairness-id");
/// Header in which llm-d's router says why it dropped a request.
const DROPPED: &str = "x-llm-d-request-dropped-reason";

/// What that header may say. No log and no client gets anything else that a gateway wrote.
const REASONS: [&str; 9] = [
    "rejected-saturated",
    "rejected-no-endpoints",
    "rejected-ttl-expired",
    "rejected-context-cancelled",
    "rejected-shutting-down",
    "rejected-internal",
    "evicted",
    "evicted-queue-pressure",
    "evicted-priority",
];

/// Headers that tell what an engine with these facts reads of the request's owner and chain.
pub(super) fn headers(facts: &Facts, request: &RemoteRequest) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if facts.kind == EngineKind::Gateway {
        headers.insert(FAIRNESS, value(request.principal));
    }
    if let Some(chain) = request.affinity.chain() {
        let names: &[HeaderName] = match facts.kind {
            EngineKind::Gateway => &[SESSION_AFFINITY, DYNAMO_SESSION, AIBRIX_SESSION],
            EngineKind::OpenAi if facts.is_sluice => &[SESSION_AFFINITY],
            EngineKind::Vllm => &[VLLM_SESSION],
            // vLLM reads the body's field. SGLang keeps what a session refers to until somebody closes
            // it, and nobody tells this server that a session has ended. llama.cpp knows none.
            EngineKind::OpenAi | EngineKind::Sglang | EngineKind::LlamaCpp => &[],
        };
        headers.extend(names.iter().map(|name| (name.clone(), value(chain))));
    }
    headers
}

/// The body's field `session_id` of `/v1/completions`, as vLLM reads it (0.33).
pub(super) fn session_field(facts: &Facts, request: &RemoteRequest) -> Option<String> {
    request.affinity.chain().filter(|_| !facts.is_sluice).map(text)
}

/// Why a gateway dropped the request, if the answer's headers say so.
pub(super) fn dropped_reason(headers: &HeaderMap) -> Option<&'static str> {
    let told = headers.get(DROPPED)?;
    Some(REASONS.into_iter().find(|reason| told == *reason).unwrap_or("for a reason that isn't known here"))
}

fn text(number: u64) -> String {
    format!("{number:016x}")
}

fn value(number: u64) -> HeaderValue {
    HeaderValue::from_str(&text(number)).expect("hexadecimal digits")
}

//! Probes a remote engine: its kind, its name for the model, whether its tokens are those of our
//! tokenizer, and what it can't do.
//!
//! Every engine is probed at the server's start, and again at each health check until it can be
//! used. A probe generates one token one to three times.

use std::sync::Arc;

use engine::{Constraint, LogitsProcessors, RouteKey, SamplingParams};
use http::StatusCode;
use reqwest::Response;
use serde_json::{Value, json};

use super::facts::{Facts, GaugeNames, Watch};
use super::kind::EngineKind;
use super::request::RemoteRequest;
use super::schema::SchemaGaps;
use super::upstream::Upstream;
use super::vocabulary::Vocabulary;
use super::wire::{self, Chunk, Piece, Room};
use super::words::plain;
use net::sse::{MAX_EVENT, SseReader};
use net::{connection_words, read_body};

/// Largest body of an answer to a probe, in bytes.
const MAX_BODY: usize = 4 << 20;
/// Number of tokens of an answer to a probe that are read: the one that was asked for, and perhaps
/// a stop token.
const PROBE_TOKENS: usize = 2;

/// Header that the endpoint pickers of inference gateways set in every answer that passes them, and
/// nothing else does.
const PICKER_HEADER: &str = "x-went-into-resp-headers";

/// Header of a probe's request, by which a Sluice behind this one knows that nobody asked it.
pub const PROBE_HEADER: &str = "x-sluice-probe";

/// Why an engine can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProbeError {
    /// The engine doesn't answer, or not yet. It is probed again.
    #[error("{0}")]
    Unreachable(String),
    /// The engine answers but is of another kind or serves another model. The operator has to
    /// change the configuration.
    #[error("{0}")]
    Unusable(String),
}

/// Expectations that an engine is probed against.
pub(super) struct ProbeRequest<'a> {
    /// Kind that the operator gave; if none, it is detected.
    pub(super) kind: Option<EngineKind>,
    /// Names of the model; the engine may know it by one of them.
    pub(super) names: &'a [String],
    pub(super) vocabulary: &'a Vocabulary,
}

/// Probes an engine. Returns its facts and warnings about what couldn't be checked.
pub(super) async fn probe(
    upstream: &Upstream,
    probe_request: &ProbeRequest<'_>,
) -> Result<(Facts, Vec<&'static str>), ProbeError> {
    let response = response_of(upstream, "v1/models").await?;
    let is_gateway = response.as_ref().is_some_and(|response| response.headers().contains_key(PICKER_HEADER));
    let listed = body_of(response).await?;
    let kind = kind_of(probe_request.kind, is_gateway, &listed);
    let entry = model_of(&listed, probe_request.names)?;
    let mut facts = facts_of(upstream, kind, entry).await?;
    let mut doubts = Vec::new();
    if !has_our_tokens(upstream, &facts, probe_request.vocabulary).await? {
        doubts.push("it doesn't tell how it tokenises: whether its vocabulary is the model's is not known");
    }
    if probe_request.kind.is_none()
        && facts.kind == EngineKind::Vllm
        && !takes_generate(upstream, &facts, probe_request).await?
    {
        facts.kind = EngineKind::OpenAi;
    }
    facts.tells_ids = tells_ids(upstream, &facts, probe_request).await?;
    facts.follows_grammars =
        facts.tells_ids && facts.follows_grammars && follows_grammar(upstream, &facts, probe_request).await?;
    Ok((facts, doubts))
}

/// JSON that a route answers; null if the engine has no such route.
async fn json_of(upstream: &Upstream, path: &str) -> Result<Value, ProbeError> {
    body_of(response_of(upstream, path).await?).await
}

/// What a route answers; none if the engine has no such route.
async fn response_of(upstream: &Upstream, path: &str) -> Result<Option<Response>, ProbeError> {
    let response = upstream.get(path).send().await;
    let response = response.map_err(|error| ProbeError::Unreachable(connection_words(&error)))?;
    let status = response.status();
    if status == StatusCode::UNAUTHORIZED || status == StatusCode::FORBIDDEN {
        return Err(ProbeError::Unusable(format!("it answers {status}: give its key by --engine-key")));
    }
    if status.is_server_error() || is_busy(status) {
        return Err(ProbeError::Unreachable(format!("it answers {status}")));
    }
    Ok(status.is_success().then_some(response))
}

async fn body_of(response: Option<Response>) -> Result<Value, ProbeError> {
    let Some(response) = response else { return Ok(Value::Null) };
    let body = read_body(response, MAX_BODY).await.map_err(ProbeError::Unreachable)?;
    Ok(serde_json::from_slice(&body).unwrap_or_default())
}

/// The operator's kind, else a gateway's that shows itself, else the kind that belongs to `owned_by` of the
/// first listed model. The list behind a gateway is that of one of its engines.
fn kind_of(asked: Option<EngineKind>, is_gateway: bool, listed: &Value) -> EngineKind {
    let told = listed["data"][0]["owned_by"].as_str().and_then(EngineKind::of);
    let told = told.filter(|kind| *kind != EngineKind::Gateway);
    let found = if is_gateway { Some(EngineKind::Gateway) } else { told };
    asked.or(found).unwrap_or(EngineKind::OpenAi)
}

/// Whether an answer says that the engine takes no requests now, which another probe may find
/// otherwise.
fn is_busy(status: StatusCode) -> bool {
    matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE)
}

/// The model's entry in the list: the one whose id is one of `names`, or the only entry.
fn model_of<'a>(listed: &'a Value, names: &[String]) -> Result<&'a Value, ProbeError> {
    let entries = listed["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_ours = |entry: &&Value| names.iter().any(|name| entry["id"].as_str() == Some(name));
    match (entries.iter().find(is_ours), entries) {
        (Some(entry), _) | (None, [entry]) => Ok(entry),
        (None, []) => {
            Err(ProbeError::Unusable("it lists no model at /v1/models: is it an engine's URL?".to_owned()))
        }
        (None, several) => {
            let ids = several.iter().filter_map(|entry| entry["id"].as_str()).map(plain);
            let ids: Vec<_> = ids.take(8).collect();
            let reason =
                format!("it serves several models ({}): say which by --served-model-name", ids.join(", "));
            Err(ProbeError::Unusable(reason))
        }
    }
}

/// Facts that the engine reports about itself.
async fn facts_of(upstream: &Upstream, kind: EngineKind, entry: &Value) -> Result<Facts, ProbeError> {
    let model = entry["id"].as_str().unwrap_or_default().to_owned();
    let context = entry["max_model_len"].as_u64();
    let is_vllm = entry["owned_by"] == "vllm" || kind == EngineKind::Vllm;
    let passes_completions = matches!(kind, EngineKind::OpenAi | EngineKind::Gateway);
    let is_sluice = entry["owned_by"] == "sluice" && passes_completions;
    let is_known = is_vllm || is_sluice;
    let mut facts = Facts {
        kind,
        is_sluice,
        name: Arc::from("an engine that speaks OpenAI's completions"),
        model,
        context: context.and_then(|context| usize::try_from(context).ok()),
        tells_ids: true,
        follows_grammars: is_known,
        follows_schemas: is_known,
        follows_schemas_after_reasoning: false,
        follows_seeds: true,
        priority_sign: i32::from(is_known),
        has_raw_logprobs: true,
        watch: watch(kind, is_vllm, is_sluice),
    };
    match kind {
        EngineKind::OpenAi | EngineKind::Vllm | EngineKind::Gateway => {
            if is_known {
                // The version is for people: an engine that tells it in no usable way can be used.
                let version = json_of(upstream, "version").await.unwrap_or_default();
                let engine = if is_sluice { "Sluice" } else { "vLLM" };
                facts.name = super::facts::named(engine, &version["version"]);
            }
            if kind == EngineKind::Gateway {
                facts.name = format!("a gateway before {}", facts.name).into();
            }
        }
        EngineKind::Sglang => {
            let (mut server, model) =
                (json_of(upstream, "server_info").await?, json_of(upstream, "model_info").await?);
            if server.is_null() {
                // The route's name in older versions.
                server = json_of(upstream, "get_server_info").await?;
            }
            facts.take_sglang(&server, &model);
        }
        EngineKind::LlamaCpp => {
            let props = json_of(upstream, "props").await?;
            facts.take_llamacpp(&props);
        }
    }
    Ok(facts)
}

/// How an engine of this kind is watched; none for a gateway.
fn watch(kind: EngineKind, is_vllm: bool, is_sluice: bool) -> Option<Watch> {
    let gauges = match kind {
        EngineKind::Gateway => return None,
        _ if is_sluice => Some(&GaugeNames::SLUICE),
        _ if is_vllm => Some(&GaugeNames::VLLM),
        EngineKind::Sglang => Some(&GaugeNames::SGLANG),
        EngineKind::LlamaCpp => Some(&GaugeNames::LLAMA_CPP),
        EngineKind::OpenAi | EngineKind::Vllm => None,
    };
    let is_unknown = kind == EngineKind::OpenAi && gauges.is_none();
    Some(Watch { health: if is_unknown { "v1/models" } else { "health" }, gauges, slots: None })
}

/// Whether the engine tokenises the samples as our tokenizer does; false if it doesn't say how it
/// tokenises them.
async fn has_our_tokens(
    upstream: &Upstream,
    facts: &Facts,
    vocabulary: &Vocabulary,
) -> Result<bool, ProbeError> {
    let samples = vocabulary.samples();
    let samples =
        samples.map_err(|error| ProbeError::Unusable(format!("the model's own tokenizer fails: {error}")))?;
    for (text, ids) in samples {
        let body = match facts.kind {
            EngineKind::LlamaCpp => json!({ "content": text, "add_special": false, "parse_special": false }),
            _ => json!({ "model": facts.model, "prompt": text, "add_special_tokens": false }),
        };
        let post = upstream.ask("tokenize", body.to_string().into_bytes());
        let response =
            post.send().await.map_err(|error| ProbeError::Unreachable(connection_words(&error)))?;
        if is_busy(response.status()) {
            return Err(ProbeError::Unreachable(format!("it answers {}", response.status())));
        }
        if !response.status().is_success() {
            return Ok(false);
        }
        let body = read_body(response, MAX_BODY).await.map_err(ProbeError::Unreachable)?;
        let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        let Some(theirs) = answer["tokens"].as_array() else { return Ok(false) };
        if !theirs.iter().map(Value::as_u64).eq(ids.iter().map(|id| Some(u64::from(*id)))) {
            return Err(ProbeError::Unusable(format!(
                "it splits {text:?} into other tokens than --model: it serves another model, or another version of its tokenizer"
            )));
        }
    }
    Ok(true)
}

/// Outcome of a request for one token.
enum Answered {
    Chunk(Chunk),
    /// The engine refuses the request.
    Refused,
}

async fn one_token(
    upstream: &Upstream,
    facts: &Facts,
    probe_request: &ProbeRequest<'_>,
    constraint: Option<Constraint>,
) -> Result<Answered, ProbeError> {
    let request = RemoteRequest {
        prompt: probe_request.vocabulary.encode("Hello"),
        max_tokens: 1,
        sampling: SamplingParams::GREEDY,
        processors: LogitsProcessors::default(),
        stop_ids: Arc::from([]),
        ignore_eos: false,
        top_logprobs: None,
        prompt_logprobs: None,
        constraint: constraint.map(Arc::new),
        reasoning_budget: None,
        schema_gaps: SchemaGaps::default(),
        cache_salt: 0,
        affinity: RouteKey::Beginning(0),
        principal: 0,
        priority: 0,
        traceparent: None,
    };
    let wire = wire::of(facts.kind);
    let body = wire.body(&request, facts, &system::random::hex::<16>());
    let mut post = upstream.post(wire.path(), body).timeout(super::PROBE_ANSWER_TIME);
    if facts.is_sluice {
        post = post.header(PROBE_HEADER, "1");
    }
    let response = post.send().await.map_err(|error| ProbeError::Unreachable(connection_words(&error)))?;
    match response.status() {
        StatusCode::OK => {}
        status if status.is_client_error() && !is_busy(status) => return Ok(Answered::Refused),
        status => return Err(ProbeError::Unreachable(format!("it answers a probe with {status}"))),
    }
    let body = read_body(response, MAX_BODY).await.map_err(ProbeError::Unreachable)?;
    let mut chunk = Chunk::new(Room { tokens: PROBE_TOKENS, text: MAX_EVENT });
    let (mut sse, mut data, mut reader) = (SseReader::new(MAX_EVENT), Vec::new(), wire.reader(&[]));
    sse.push(&body);
    while sse.next(&mut data).is_ok_and(|is_there| is_there) {
        if reader.read(&data, &mut chunk).is_err() {
            return Ok(Answered::Refused);
        }
    }
    Ok(Answered::Chunk(chunk))
}

/// Whether vLLM's `/inference/v1/generate` is switched on.
async fn takes_generate(
    upstream: &Upstream,
    facts: &Facts,
    probe_request: &ProbeRequest<'_>,
) -> Result<bool, ProbeError> {
    Ok(matches!(one_token(upstream, facts, probe_request, None).await?, Answered::Chunk(_)))
}

async fn tells_ids(
    upstream: &Upstream,
    facts: &Facts,
    probe_request: &ProbeRequest<'_>,
) -> Result<bool, ProbeError> {
    match one_token(upstream, facts, probe_request, None).await? {
        Answered::Chunk(chunk) => Ok(chunk.pieces.iter().any(|piece| matches!(piece, Piece::Token(_)))),
        Answered::Refused => {
            let path = wire::of(facts.kind).path();
            let hint =
                if facts.kind == EngineKind::Vllm { " (start vLLM with --enable-scale-out)" } else { "" };
            Err(ProbeError::Unusable(format!(
                "it refuses requests to /{path}{hint}: is --engine-kind right?"
            )))
        }
    }
}

/// Whether the engine follows a grammar that names a token by id. The probe's grammar allows one
/// token only, and checks that it is generated.
async fn follows_grammar(
    upstream: &Upstream,
    facts: &Facts,
    probe_request: &ProbeRequest<'_>,
) -> Result<bool, ProbeError> {
    let Some(id) = probe_request.vocabulary.marker() else { return Ok(false) };
    let grammar = format!("start: <[{id}]>\n");
    let constraint = Constraint { grammar: Some(grammar), json: None, is_optional: false };
    Ok(match one_token(upstream, facts, probe_request, Some(constraint)).await? {
        Answered::Chunk(chunk) => matches!(&chunk.pieces[..], [Piece::Token(token), ..] if token.id == id),
        Answered::Refused => false,
    })
}

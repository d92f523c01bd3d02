//! Acceptance of generating requests: a request is read with what it continues, its generation is
//! started, and what its client wants stored is stored. Nothing of it is sent yet.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::accept::app::App;
use crate::accept::body::{COPIES, CheckedBody};
use crate::accept::caller::Caller;
use crate::accept::record_draft::RecordDraft;
use crate::answer::Answer;
use crate::state::keeping::{keep, keep_completion, keep_turn};
use crate::state::queue::enqueue;
use crate::state::resolve::{Continues, Resolved, resolve};
use crate::state::threads::threaded;
use crate::traces::{AnswerSpan, SpanStart};
use accounts::Account;
use api::agent::{AnswerStream, clear};
use api::chat::{self, stored::Wish};
use api::error::ApiError;
use api::machine::Machine;
use api::responses::{self, Continuation, Wishes};
use api::{ApiRequest, JsonObject, Protocol};
use model::Job;
use model::Model;
use model::record::Recorder;
use net::trace::Trace;

/// Largest body of a probe by another Sluice: a few words, and a grammar of one token. What is
/// larger, or asks for more than one token, is an answer like any other, whatever its header says.
const PROBE_BYTES: usize = 4096;

/// An answer that is about to be generated.
pub(crate) struct Begun {
    /// The answer.
    pub(crate) answer: Answer,
    /// Whether the client wants a stream.
    pub(crate) stream: bool,
    /// A line for each part of the request that is ignored.
    pub(crate) warnings: Vec<String>,
    /// Items that the request continues, oldest first.
    pub(crate) before: Arc<[Vec<u8>]>,
    /// The request's own items, where its answer isn't stored and they are wanted, or needed to
    /// read it.
    pub(crate) input: Vec<store::StoredItem>,
    /// Ends a stored answer as cancelled.
    pub(crate) withdrawn: Option<CancellationToken>,
}

/// A response that was stored and will run in the background.
pub(crate) struct QueuedResponse {
    /// Its id.
    pub(crate) id: String,
    /// Its object as JSON.
    pub(crate) object: String,
    /// Whether the client wants its events.
    pub(crate) stream: bool,
    /// Whether the client wants deltas padded.
    pub(crate) pad: bool,
    /// A line for each part of the request that is ignored.
    pub(crate) warnings: Vec<String>,
}

/// How far a request is generated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The model answers.
    Answer,
    /// The engine caches the prompt; the answer is empty, to be continued.
    Prefill,
}

/// What became of a request.
pub(crate) enum Accepted {
    /// Its answer begins.
    Begun(Box<Begun>),
    /// It waits.
    Queued(QueuedResponse),
}

/// Accepts a request: reads it with what it continues, starts its generation, and stores what its
/// client wants stored. An answer that goes no further than its prompt is empty.
///
/// # Errors
/// What the client did wrong, or what there is no room for. Nothing is stored or generated then.
pub(crate) async fn accept(
    app: &App,
    caller: &Caller,
    protocol: Protocol,
    body: CheckedBody,
    continues: Continues,
    extent: Extent,
) -> Result<Accepted, ApiError> {
    if protocol != Protocol::Responses {
        return accept_other(app, caller, protocol, body).await;
    }
    let (body, mut continuation, mut resolved) = consult(app, caller, body, continues).await?;
    continuation.prompt_only = extent == Extent::Prefill;
    let store = continuation.store;
    let asked = body.asked_model().map(str::to_owned);
    let (request, model, account) = read(app, caller, protocol, body, continuation).await?;
    let (stream, warnings) = (request.stream, request.warnings.clone());
    if resolved.background {
        // It is recorded when it runs.
        model.answer_context().discard_record();
        model.check(&request.job).map_err(|error| protocol.refusal(&error))?;
        let (mut machine, pad) = (request.machine, resolved.pad);
        let asked = asked.unwrap_or_else(|| model.label().to_string());
        let (id, object) = enqueue(app, &caller.owner(), asked, &mut *machine, resolved).await?;
        return Ok(Accepted::Queued(QueuedResponse { id, object, stream, pad, warnings }));
    }
    let mut answer = launch(app, caller, protocol, request, model, extent).await?;
    let withdrawn =
        if store { Some(keep(app, &caller.owner(), &mut answer, &mut resolved).await?) } else { None };
    drop(account);
    let Resolved { before, input, .. } = resolved;
    let begun = Begun { answer, stream, warnings, before, input, withdrawn };
    Ok(Accepted::Begun(Box::new(begun)))
}

/// Accepts a request of another protocol than Responses. A chat completion, and a turn of a thread,
/// is stored if its client wants that.
async fn accept_other(
    app: &App,
    caller: &Caller,
    protocol: Protocol,
    body: CheckedBody,
) -> Result<Accepted, ApiError> {
    let (body, wish) = completion_wish(app, protocol, body).await?;
    let (body, turn) = match protocol {
        Protocol::Messages => threaded(app, caller, body).await?,
        _ => (body, None),
    };
    let (request, model, account) = read(app, caller, protocol, body, Continuation::default()).await?;
    let (stream, mut warnings) = (request.stream, request.warnings.clone());
    let mut answer = launch(app, caller, protocol, request, model, Extent::Answer).await?;
    let owner = caller.owner();
    let withdrawn = match (wish, turn) {
        (_, Some(turn)) => Some(keep_turn(app, &owner, &mut answer, turn).await?),
        (Some(wish), None) if app.store.is_some() => {
            Some(keep_completion(app, &owner, &mut answer, wish).await?)
        }
        (Some(_), None) => {
            warnings.push("store ignored: this server keeps nothing (--store none)".to_owned());
            None
        }
        (None, None) => None,
    };
    // The body and the prompt's text are freed by now, and the answer keeps little of them.
    drop(account);
    let begun = Begun { answer, stream, warnings, before: Arc::new([]), input: Vec::new(), withdrawn };
    Ok(Accepted::Begun(Box::new(begun)))
}

/// What a chat request wants stored.
async fn completion_wish(
    app: &App,
    protocol: Protocol,
    body: CheckedBody,
) -> Result<(CheckedBody, Option<Wish>), ApiError> {
    if protocol != Protocol::Chat {
        return Ok((body, None));
    }
    let max = app.limits.request.metadata;
    let (mut body, wish) = body.refer(app, move |body| chat::stored::wish(body, max)).await?;
    body.hold(wish.as_ref().map_or(0, Wish::size), COPIES)?;
    Ok((body, wish))
}

/// The first step of a Responses request's reading: what it continues and refers to is asked of the
/// store.
pub(crate) async fn consult(
    app: &App,
    caller: &Caller,
    body: CheckedBody,
    continues: Continues,
) -> Result<(CheckedBody, Continuation, Resolved), ApiError> {
    let has_store = app.store.is_some();
    let wants_own = continues.wants_items();
    let (body, wishes) = body.refer(app, move |body| Wishes::read(body, has_store, wants_own)).await?;
    if continues.asks_store() && wishes.need_store() {
        crate::state::store_error::store(app)?;
    }
    resolve(app, &caller.owner(), body, wishes, continues).await
}

/// The second step: reads the request with what it continues.
async fn read(
    app: &App,
    caller: &Caller,
    protocol: Protocol,
    body: CheckedBody,
    continuation: Continuation,
) -> Result<(ApiRequest, Model, Account), ApiError> {
    let draft = RecordDraft::new(app, caller, protocol, &body, &continuation);
    let may_be_probe = caller.is_probe && body.text().len() <= PROBE_BYTES;
    let (ids, now) = draft.ids_and_clock();
    let read = move |body: &JsonObject<'_>, defaults: &_, model: &Model| {
        let read = match protocol {
            Protocol::Responses => responses::read_continuing(body, &continuation, defaults, ids, &now),
            _ => protocol.read_object(body, defaults, ids, &now),
        }?;
        Ok(read.for_model(model))
    };
    let (request, model, account) = body.read(app, read).await?;
    let is_probe = may_be_probe && request.job.max_output_tokens == Some(1);
    let model = if is_probe { draft.begin_probe(model) } else { draft.begin(app, model) };
    Ok((request, model, account))
}

/// Starts a request's generation.
pub(crate) async fn launch(
    app: &App,
    caller: &Caller,
    protocol: Protocol,
    request: ApiRequest,
    model: Model,
    extent: Extent,
) -> Result<Answer, ApiError> {
    let ApiRequest { mut job, hosted, clearing, compaction, mut machine, warnings, .. } = request;
    if !warnings.is_empty() {
        // Only the client is told which: they are names of the request.
        tracing::debug!(id = %caller.id, fields = warnings.len(), "parts of the request are ignored");
    }
    job.session = job.session.or(caller.session);
    let context = model.answer_context().clone();
    let facts = context.trace().is_some().then(|| facts(caller, protocol, &model));
    let metrics = model.answer_metrics();
    let mut span = begin_span(app, caller, protocol, &model, &job, &mut *machine);
    job.trace = match &span {
        Some(span) => Some(span.trace().clone()),
        None => caller.span.clone().map(Trace::passed_on),
    };
    let begin = async {
        machine.cleared(&clear(&model, &mut job, &clearing).await?);
        match extent {
            Extent::Answer => {
                let refusal = Box::new(move |error: &_| protocol.refusal(error).into_failure());
                AnswerStream::begin(model, job, hosted, compaction, &app.limits.mcp, refusal).await
            }
            Extent::Prefill => AnswerStream::of_prompt(model, job).await,
        }
    };
    let events = begin.await.map_err(|error| {
        context.discard_record();
        let refusal = protocol.refusal(&error);
        if let Some(span) = &mut span {
            span.refused(refusal.code.unwrap_or(refusal.kind));
        }
        refusal
    })?;
    let check = app.check_streams.then(|| protocol.check());
    let answer = Answer::new(metrics, caller.id.clone(), caller.began, events, machine, check, &app.aborting);
    let answer = answer.in_context(context, &app.any_defaults().seal.of(&caller.principal));
    let mut answer = answer.traced(app.taps.as_ref(), || facts.unwrap_or_default());
    answer.spanned_by(span);
    Ok(answer)
}

/// Begins the span of an answer, if spans are exported.
fn begin_span(
    app: &App,
    caller: &Caller,
    protocol: Protocol,
    model: &Model,
    job: &Job,
    machine: &mut dyn Machine,
) -> Option<AnswerSpan> {
    let traces = app.traces.as_ref().filter(|_| !model.answer_context().is_probe())?;
    let start = SpanStart {
        parent: caller.span.as_ref(),
        began: caller.began,
        request_id: &caller.id,
        model: model.label(),
        protocol,
        job,
        response_id: machine.record().map(|record| record.id),
    };
    AnswerSpan::begin(traces, start)
}

/// What is shown of an answer that is traced.
fn facts(caller: &Caller, protocol: Protocol, model: &Model) -> serde_json::Map<String, serde_json::Value> {
    let context = model.answer_context();
    let mut facts = model.trace_facts();
    let mut add = |name: &str, value: serde_json::Value| facts.insert(name.to_owned(), value);
    add("request_id", caller.id.clone().into());
    add("model", model.label().to_string().into());
    add("protocol", protocol.word().into());
    add("began_at", context.clock().now().into());
    add("record", context.recorder().map(Recorder::name).into());
    facts
}

/// Starts the generation of a stored request that has waited.
pub(crate) async fn start(
    app: &App,
    caller: &Caller,
    body: CheckedBody,
    continuation: Continuation,
) -> Result<Answer, ApiError> {
    let (request, model, _account) = read(app, caller, Protocol::Responses, body, continuation).await?;
    let mut answer = launch(app, caller, Protocol::Responses, request, model, Extent::Answer).await?;
    // Its first events were checked when they were made.
    answer.uncheck();
    Ok(answer)
}

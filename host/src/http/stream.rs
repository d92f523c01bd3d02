//! Generating routes: a request becomes a turn, the turn's events become frames, and frames go out as the client takes them.
//!
//! A streaming answer has one task, which writes a log of its events, and a reader of the log, which is the body. The task ends with the
//! turn, when the client leaves (the reader was dropped), when a client reads nothing for too long, or when the server stops. At most
//! `stream_queue` appends wait in the log; then the task waits, the engine's queue fills, and the engine pauses this sequence alone.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use http::{HeaderValue, header};
use tokio::time::timeout;
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::answer::{RequestId, json, refuse, typed, warn};
use super::app::App;
use super::body::check_json;
use super::connection::Disconnect;
use super::event_log::{LogWriter, Signal, event_log};
use super::event_stream::EventStream;
use super::routes::whole_ms;
use crate::agent::{AnswerStream, RoundEventRef};
use crate::api::error::ApiError;
use crate::api::frames::Frames;
use crate::api::machine::Machine;
use crate::api::{ApiRequest, Object, Protocol, StreamCheck};
use crate::model::{EndedTurn, Model};
use crate::turn::{TurnEnd, TurnFailure};

/// The handler of all generating routes.
pub(super) async fn generate(State(app): State<App>, request: Request, protocol: Protocol) -> Response {
    match accept(&app, request, protocol).await {
        Ok(response) => response,
        Err(error) => refuse(&error),
    }
}

async fn accept(app: &App, request: Request, protocol: Protocol) -> Result<Response, ApiError> {
    let began = Instant::now();
    let id = request.extensions().get::<RequestId>().map(|id| id.0.clone()).unwrap_or_default();
    let disconnect = request.extensions().get::<Disconnect>().cloned();
    let read = move |body: &Object<'_>, defaults: &_, model: &Model| {
        let mut read = protocol.read_object(body, defaults)?;
        read.warnings.extend(model.warnings(&read.job));
        Ok(read)
    };
    let (api_request, model, account) = check_json(app, request).await?.read(app, read).await?;
    let ApiRequest { stream, job, hosted, machine, warnings } = api_request;
    if !warnings.is_empty() {
        // Only the client is told which: they are names of the request.
        tracing::debug!(%id, fields = warnings.len(), "parts of the request are ignored");
    }
    let label = model.label();
    let events = match hosted {
        None => AnswerStream::one(model.start_choices(job).await.map_err(|error| protocol.refusal(&error))?),
        Some(hosted) => {
            // The answer begins before its first turn, so a later refusal would be an event; the job is checked now.
            model.check(&job).map_err(|error| protocol.refusal(&error))?;
            let refusal = Box::new(move |error: &_| protocol.refusal(error).into_failure());
            AnswerStream::several(model, job, hosted, &app.limits.mcp, refusal)
        }
    };
    // The body and the prompt's text are freed by now, and the answer keeps little of them.
    drop(account);
    let answer = Answer::new(app, label, id, began, events, machine, protocol);
    let mut response = if stream { send(app, answer, disconnect) } else { answer.collect().await };
    warn(&mut response, &warnings);
    Ok(response)
}

/// An answer that is being generated.
struct Answer {
    app: App,
    /// Label of the model, for metrics.
    model: Arc<str>,
    id: String,
    began: Instant,
    stream: AnswerStream,
    machine: Box<dyn Machine>,
    check: Option<StreamCheck>,
    spoken: bool,
    /// Ready when open answers must end. It is polled only when it is woken, since polling takes a lock that all answers share.
    aborting: FuturesUnordered<WaitForCancellationFutureOwned>,
    /// Dropped when the answer ends.
    _counted: StreamGauge,
}

/// Gauge of a model's answers under way.
struct StreamGauge(metrics::Gauge);

impl StreamGauge {
    fn enter(model: &Arc<str>) -> Self {
        let gauge = metrics::gauge!("sluice_streams", "model" => Arc::clone(model));
        gauge.increment(1);
        Self(gauge)
    }
}

impl Drop for StreamGauge {
    fn drop(&mut self) {
        self.0.decrement(1);
    }
}

impl Answer {
    fn new(
        app: &App,
        model: Arc<str>,
        id: String,
        began: Instant,
        mut stream: AnswerStream,
        mut machine: Box<dyn Machine>,
        protocol: Protocol,
    ) -> Self {
        machine.accepted(&id, stream.prompt_tokens());
        let check = app.check_streams.then(|| protocol.check());
        Self {
            app: app.clone(),
            id,
            began,
            stream,
            machine,
            check,
            spoken: false,
            aborting: FuturesUnordered::from_iter([app.aborting.clone().cancelled_owned()]),
            _counted: StreamGauge::enter(&model),
            model,
        }
    }

    /// Waits for the next events of any choice and makes frames of them. Returns whether the answer is complete. Cancel-safe.
    async fn advance(&mut self, frames: &mut Frames) -> bool {
        let (choice, ended) = tokio::select! {
            biased;
            Some(()) = self.aborting.next() => self.stream.abort(shutting_down()),
            next = self.stream.next() => next,
        };
        self.machine.choose(choice);
        if let Some(step) = self.stream.next_raw(choice) {
            self.machine.tokens(&step);
        }
        if let Some(echo) = self.stream.take_echo(choice) {
            self.machine.echo(&echo, frames);
        }
        self.emit(frames);
        if let Some(ended) = &ended {
            for raw in self.stream.take_raw(choice) {
                self.machine.raw(raw);
            }
            if let Some(stop) = self.stream.stop_string(choice) {
                self.machine.stopped_by(stop);
            }
            if let Some(token) = self.stream.stop_token(choice) {
                self.machine.stopped_at(token);
            }
            self.machine.end(&ended.end, ended.usage, frames);
            self.record(ended);
        } else {
            self.machine.tokens_over(frames);
        }
        self.stream.is_over()
    }

    fn emit(&mut self, frames: &mut Frames) {
        for event in self.stream.events() {
            if !self.spoken {
                self.spoken = true;
                let model = Arc::clone(&self.model);
                metrics::histogram!("sluice_first_token_seconds", "model" => model)
                    .record(self.began.elapsed());
            }
            match event {
                RoundEventRef::Turn(event) => self.machine.turn(event, frames),
                RoundEventRef::Server(event) => self.machine.server(event, frames),
            }
        }
    }

    /// Generates a non-streaming answer with the same machine; its frames are discarded.
    async fn collect(mut self) -> Response {
        let mut frames = Frames::discarding();
        self.machine.begin(&mut frames);
        while !self.advance(&mut frames).await {}
        let (status, body) = self.machine.body();
        json(status, body)
    }

    /// Checks bytes that are about to be sent against the event grammar, if that is switched on.
    fn checked(&mut self, bytes: &[u8]) {
        let Some(check) = &mut self.check else { return };
        if let Err(violation) = check.feed(bytes) {
            self.report(&violation);
        }
    }

    fn report(&mut self, violation: &str) {
        self.check = None;
        metrics::counter!("sluice_stream_violations_total", "model" => Arc::clone(&self.model)).increment(1);
        tracing::error!(id = %self.id, model = %self.model, violation, "this stream breaks the event grammar");
    }

    /// Updates the counters and writes the log line of a turn that has ended.
    fn record(&mut self, ended: &EndedTurn) {
        let model = || Arc::clone(&self.model);
        let (input, output) = (ended.usage.input_tokens, ended.usage.output_tokens);
        metrics::counter!("sluice_prompt_tokens_total", "model" => model()).increment(input.into());
        metrics::counter!("sluice_generated_tokens_total", "model" => model()).increment(output.into());
        metrics::histogram!("sluice_answer_seconds", "model" => model()).record(self.began.elapsed());
        let end = match &ended.end {
            TurnEnd::Completed => "completed",
            TurnEnd::MaxOutputTokens => "max_output_tokens",
            TurnEnd::Cancelled => "cancelled",
            TurnEnd::Failed(failure) => failure.code,
        };
        let ms = whole_ms(self.began.elapsed());
        tracing::info!(id = %self.id, model = %self.model, end, input, output, ms, "turn ended");
    }
}

fn shutting_down() -> TurnFailure {
    TurnFailure { code: "server_error", message: "The server is shutting down; try again.".to_owned() }
}

/// Starts the task of a streaming answer, and makes the response whose body reads the log.
fn send(app: &App, answer: Answer, disconnect: Option<Disconnect>) -> Response {
    let (log, reader) = event_log(app.limits.stream_queue, 0);
    app.tasks.spawn(pump(answer, log, disconnect));
    let body = Body::new(EventStream::new(reader, &app.limits));
    let mut response = typed(200, "text/event-stream; charset=utf-8", body);
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// The client has gone, or reads nothing.
struct Unread;

async fn pump(mut answer: Answer, log: LogWriter, disconnect: Option<Disconnect>) {
    let began = answer.began;
    if drive(&mut answer, &log, disconnect.as_ref()).await.is_err() {
        tracing::info!(id = %answer.id, ms = whole_ms(began.elapsed()), "the client left; generation cancelled");
    }
}

async fn drive(answer: &mut Answer, log: &LogWriter, disconnect: Option<&Disconnect>) -> Result<(), Unread> {
    let mut frames = Frames::new();
    answer.machine.begin(&mut frames);
    append(answer, &mut frames, log, disconnect).await?;
    loop {
        let over = tokio::select! {
            // Signals come first: an answer that never waits would not notice that no reader is left.
            biased;
            signal = log.signal() => match signal {
                Signal::Unread => return Err(Unread),
                Signal::HeartbeatDue => {
                    answer.machine.heartbeat(&mut frames);
                    false
                }
            },
            over = answer.advance(&mut frames) => over,
        };
        append(answer, &mut frames, log, disconnect).await?;
        if over {
            if let Some(Err(violation)) = answer.check.take().map(|check| check.finish()) {
                answer.report(&violation);
            }
            return Ok(());
        }
    }
}

/// Appends the frames as soon as there is room. A client that reads nothing for too long loses its connection.
async fn append(
    answer: &mut Answer,
    frames: &mut Frames,
    log: &LogWriter,
    disconnect: Option<&Disconnect>,
) -> Result<(), Unread> {
    if frames.bytes().is_empty() {
        return Ok(());
    }
    answer.checked(frames.bytes());
    if !log.has_room() && timeout(answer.app.limits.slow_reader, log.room()).await.is_err() {
        metrics::counter!("sluice_slow_readers_total", "model" => Arc::clone(&answer.model)).increment(1);
        if let Some(Disconnect(token)) = disconnect {
            token.cancel();
        }
        return Err(Unread);
    }
    log.append(frames);
    Ok(())
}

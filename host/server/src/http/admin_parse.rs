//! `POST /admin/parse`: what a parser makes of a text or a record, as the lines of a trace
//! (docs/inspector.md). Nothing is generated or installed.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use axum::extract::{Request, State};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::answer::answer;
use super::app::App;
use super::body::{check_json, refusal};
use super::held_body::held;
use api::error::ApiError;
use model::accounts::{Account, Overdrawn};
use model::record::{EXTENSION, RawOutput, Record};
use model::trace::Trace;
use model::{Model, Written, WrittenParser};

/// Longest text that is parsed, in bytes: its lines are some fifty times as long.
const RAW_BYTES: usize = 256 << 10;
/// Copies of a line: its text, and the room that texts grow by.
const COPIES: usize = 2;

/// What is to be parsed, and by which parser.
#[derive(Debug, Deserialize)]
struct ParseBody {
    model: Option<String>,
    parser: Option<String>,
    /// A parser's component in base64, in place of `parser`.
    component: Option<String>,
    /// Name of a record in the server's folder.
    record: Option<String>,
    /// A record's file in base64, in place of `record`.
    record_data: Option<String>,
    #[serde(flatten)]
    output: Option<RawOutput>,
}

/// The handler.
pub(super) async fn parse(State(app): State<App>, request: Request) -> Response {
    answer(parsed(&app, request).await)
}

async fn parsed(app: &App, request: Request) -> Result<Response, ApiError> {
    app.taps()?;
    let (text, account) = check_json(app, request).await?.into_parts();
    let body: ParseBody =
        serde_json::from_slice(&text).map_err(|error| ApiError::invalid(None, format!("body: {error}")))?;
    let _permit = app.parsing.try_acquire().map_err(|_| ApiError::rate_limited(1))?;
    let (model, _) = app.pick(body.model.as_deref())?;
    let (model, folder) = (model.clone(), app.records.as_ref().map(|records| records.folder().to_owned()));
    let work = move || traced(&model, &body.written(folder)?, body.parser()?, account);
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.map_err(|_| ApiError::internal("The server failed to parse this."))?;
    let Lines { text, account, overdrawn, .. } = done.map_err(|reason| ApiError::invalid(None, reason))?;
    match overdrawn {
        Some(Overdrawn::Request { most }) => {
            let what = format!(
                "its lines take more than the {most} bytes that one request may have (--request-memory): parse it in parts, or with a larger `step`"
            );
            Err(ApiError::invalid(None, what))
        }
        Some(overdrawn) => Err(refusal(overdrawn)),
        None => Ok(held("text/event-stream; charset=utf-8", text.into_bytes(), account)),
    }
}

/// Lines of a trace as server-sent events. Each is paid for before it is kept.
struct Lines {
    text: String,
    /// Number of the next line.
    number: u64,
    account: Account,
    /// Why the account couldn't pay; there are no lines then.
    overdrawn: Option<Overdrawn>,
}

impl Lines {
    /// No lines yet, of which the first one has this number.
    fn from(number: u64, account: Account) -> Self {
        Self { text: String::new(), number, account, overdrawn: None }
    }

    fn add(&mut self, line: Map<String, Value>) {
        let line = event(self.number, line);
        self.number += 1;
        if self.overdrawn.is_none() {
            self.overdrawn = self.account.hold(line.len() * COPIES).err();
            self.text.push_str(&line);
        }
        if self.overdrawn.is_some() {
            self.text = String::new();
        }
    }
}

impl ParseBody {
    /// What is parsed.
    fn written(&self, folder: Option<PathBuf>) -> Result<Written, String> {
        match (&self.record, &self.record_data, &self.output) {
            (Some(name), None, None) => Ok(Written::Record(Box::new(record(folder, name)?))),
            (None, Some(data), None) => {
                let record = Record::of_bytes(&bytes("record_data", data)?);
                Ok(Written::Record(Box::new(record.map_err(|error| format!("record_data: {error}"))?)))
            }
            (None, None, Some(output)) if output.raw.len() <= RAW_BYTES => Ok(Written::Raw(output.clone())),
            (None, None, Some(_)) => Err(format!("raw: it has more than {RAW_BYTES} bytes")),
            _ => Err("raw, record or record_data: one of them is needed, and one only".to_owned()),
        }
    }

    /// What parses it.
    fn parser(&self) -> Result<WrittenParser, String> {
        match (&self.parser, &self.component) {
            (None, None) => Ok(WrittenParser::Own),
            (Some(name), None) => Ok(WrittenParser::Named(name.clone())),
            (None, Some(component)) => Ok(WrittenParser::Sent(bytes("component", component)?)),
            (Some(_), Some(_)) => Err("parser, component: only one of them".to_owned()),
        }
    }
}

/// The bytes of a field in base64.
fn bytes(field: &str, text: &str) -> Result<Vec<u8>, String> {
    STANDARD.decode(text).map_err(|error| format!("{field}: {error}"))
}

/// A record of the server's folder.
fn record(folder: Option<PathBuf>, name: &str) -> Result<Record, String> {
    let folder = folder.ok_or("record: this server records nothing (--record)")?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let stem = name.strip_suffix(EXTENSION).and_then(|stem| stem.strip_suffix('.'));
    if !stem.is_some_and(|stem| stem.bytes().all(is_plain)) {
        return Err(format!("record: {name:?} is no record's name"));
    }
    Record::load(&folder.join(name)).map_err(|error| format!("record: {}", error.reason))
}

/// The lines as server-sent events. They are written as the parser goes on, since as JSON values
/// they would take a hundred times their text's memory.
fn traced(
    model: &Model,
    written: &Written,
    parser: WrittenParser,
    account: Account,
) -> Result<Lines, String> {
    let lines = Arc::new(Mutex::new(Some(Lines::from(1, account))));
    let kept = Arc::clone(&lines);
    let sink = move |line| {
        if let Some(lines) = &mut *lock(&kept) {
            lines.add(line);
        }
    };
    let trace = Trace::into_sink(Instant::now(), Box::new(sink));
    let mut first = model.trace_again(written, parser, trace)?;
    first.insert("type".to_owned(), json!("answer"));
    first.insert("model".to_owned(), json!(&*model.label()));
    let mut lines = lock(&lines).take().ok_or("the trace has no lines")?;
    lines.add(Map::from_iter([("type".to_owned(), json!("end"))]));
    lines.text.insert_str(0, &event(0, first));
    Ok(lines)
}

fn event(number: u64, mut line: Map<String, Value>) -> String {
    line.insert("line".to_owned(), json!(number));
    format!("data: {}\n\n", Value::Object(line))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

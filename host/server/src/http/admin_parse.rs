//! `POST /admin/parse`: what a parser makes of a text or a record, as the lines of a trace
//! (docs/inspector.md). Nothing is generated or installed.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use axum::extract::{Request, State};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::accept::app::App;
use crate::accept::body::{check_json, refusal};
use crate::http::answer::Answered;
use crate::http::held_body::held;
use accounts::{Account, Overdrawn};
use api::error::ApiError;
use model::record::{EXTENSION, PARSED_STEP, RawOutput, Record, json_weight};
use model::trace::AnswerTrace;
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
    /// What the model writes, in place of a record.
    raw: Option<String>,
    /// Tools that are declared for `raw`.
    tools: Option<Box<RawValue>>,
    #[serde(default)]
    generation_prompt: String,
    #[serde(default)]
    step: usize,
    #[serde(default)]
    finish: String,
}

/// The handler.
pub(crate) async fn parse(State(app): State<App>, request: Request) -> Answered {
    app.taps()?;
    let (text, account) = check_json(&app, request).await?.into_parts();
    let body: ParseBody =
        serde_json::from_slice(&text).map_err(|error| ApiError::invalid(None, format!("body: {error}")))?;
    let _permit = app.parsing.try_acquire().map_err(|_| ApiError::rate_limited(1))?;
    let (model, _) = app.pick(body.model.as_deref())?;
    let (model, folder) = (model.clone(), app.records.as_ref().map(|records| records.folder().to_owned()));
    let work = move || {
        let mut purse = Purse { account, overdrawn: None };
        let written = body.written(folder, &mut purse);
        if let Some(overdrawn) = purse.overdrawn {
            return Err(unpaid(overdrawn));
        }
        let lines = written.and_then(|written| traced(&model, &written, body.parser()?, purse));
        lines.map_err(|reason| ApiError::invalid(None, reason))
    };
    let done = tokio::task::spawn_blocking(work).await;
    let Lines { text, purse, .. } =
        done.map_err(|_| ApiError::internal("The server failed to parse this."))??;
    match purse.overdrawn {
        Some(overdrawn) => Err(unpaid(overdrawn).into()),
        None => Ok(held("text/event-stream; charset=utf-8", text.into_bytes(), purse.account)),
    }
}

/// The refusal of what the account couldn't pay for.
fn unpaid(overdrawn: Overdrawn) -> ApiError {
    let Overdrawn::Request { most } = overdrawn else { return refusal(overdrawn) };
    let what = format!(
        "its lines take more than the {most} bytes that one request may have (--request-memory): parse it in parts, or with a larger `step`"
    );
    ApiError::invalid(None, what)
}

/// The account of the request, which pays for what is read and for what is written.
struct Purse {
    account: Account,
    /// Why it couldn't pay.
    overdrawn: Option<Overdrawn>,
}

impl Purse {
    /// Pays for so many bytes; false if it can't, and from then on.
    fn pay(&mut self, bytes: usize) -> bool {
        if self.overdrawn.is_none() {
            self.overdrawn = self.account.hold(bytes).err();
        }
        self.overdrawn.is_none()
    }
}

/// Lines of a trace as server-sent events. Each is paid for before it is kept.
struct Lines {
    text: String,
    /// Number of the next line.
    number: u64,
    /// There are no lines if it couldn't pay.
    purse: Purse,
}

impl Lines {
    /// No lines yet, of which the first one has this number.
    fn from(number: u64, purse: Purse) -> Self {
        Self { text: String::new(), number, purse }
    }

    fn add(&mut self, line: Map<String, Value>) {
        let line = event(self.number, line);
        self.number += 1;
        if self.purse.pay(line.len() * COPIES) {
            self.text.push_str(&line);
        } else {
            self.text = String::new();
        }
    }
}

impl ParseBody {
    /// What is parsed.
    fn written(&self, folder: Option<PathBuf>, purse: &mut Purse) -> Result<Written, String> {
        let mut pay = |bytes| purse.pay(bytes);
        match (&self.record, &self.record_data, &self.raw) {
            (Some(name), None, None) => {
                let record = Record::load_to_parse(&record(folder, name)?, &mut pay);
                Ok(Written::Record(Box::new(record.map_err(|reason| format!("record: {reason}"))?)))
            }
            (None, Some(data), None) => {
                let record = Record::read_to_parse(&bytes("record_data", data)?, &mut pay);
                Ok(Written::Record(Box::new(record.map_err(|reason| format!("record_data: {reason}"))?)))
            }
            (None, None, Some(raw)) => self.output(raw, purse).map(Written::Raw),
            _ => Err("raw, record or record_data: one of them is needed, and one only".to_owned()),
        }
    }

    /// The text, and what its parser is told.
    fn output(&self, raw: &str, purse: &mut Purse) -> Result<RawOutput, String> {
        if raw.len() > RAW_BYTES {
            return Err(format!("raw: it has more than {RAW_BYTES} bytes"));
        }
        if self.step > PARSED_STEP {
            return Err(format!("step: it is more than {PARSED_STEP} tokens"));
        }
        let tools = self.tools.as_ref().map_or("[]", |tools| tools.get());
        if !purse.pay(json_weight(tools.as_bytes())) {
            return Err("tools: they take too much memory".to_owned());
        }
        let tools = serde_json::from_str(tools).map_err(|error| format!("tools: {error}"))?;
        let (generation_prompt, finish) = (self.generation_prompt.clone(), self.finish.clone());
        Ok(RawOutput { raw: raw.to_owned(), tools, generation_prompt, step: self.step, finish })
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

/// The file of a record of the server's folder.
fn record(folder: Option<PathBuf>, name: &str) -> Result<PathBuf, String> {
    let folder = folder.ok_or("record: this server records nothing (--record)")?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    let stem = name.strip_suffix(EXTENSION).and_then(|stem| stem.strip_suffix('.'));
    if !stem.is_some_and(|stem| stem.bytes().all(is_plain)) {
        return Err(format!("record: {name:?} is no record's name"));
    }
    Ok(folder.join(name))
}

/// The lines as server-sent events. They are written as the parser goes on, since as JSON values
/// they would take a hundred times their text's memory.
fn traced(model: &Model, written: &Written, parser: WrittenParser, purse: Purse) -> Result<Lines, String> {
    let lines = Arc::new(Mutex::new(Some(Lines::from(1, purse))));
    let kept = Arc::clone(&lines);
    let sink = move |line| {
        if let Some(lines) = &mut *lock(&kept) {
            lines.add(line);
        }
    };
    let trace = AnswerTrace::into_sink(Instant::now(), Box::new(sink));
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

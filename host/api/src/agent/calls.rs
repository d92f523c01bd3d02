//! Tool calls of an answer: a limited number runs at a time, the others wait in order. Dropping
//! them cancels them.

use std::collections::{HashMap, VecDeque};

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;

use super::route::Route;
use model::AnswerContext;
use model::record::RecordedInput;
use model::record::line::{Line, ToolLine};
use net::trace::Trace;

/// A call's id, and its output or error.
type EndedCall = (String, Result<String, String>);

/// The calls of one answer.
pub(super) struct Calls {
    running: FuturesUnordered<BoxFuture<'static, EndedCall>>,
    waiting: VecDeque<BoxFuture<'static, EndedCall>>,
    at_once: usize,
    /// Trace that the answer belongs to.
    trace: Option<Trace>,
    /// Ids of calls that run or wait.
    open: Vec<String>,
    /// Results for the model, by call id.
    results: HashMap<String, String>,
    context: AnswerContext,
}

impl Calls {
    /// Makes an empty set, of which `at_once` calls may run at a time.
    pub(super) fn new(at_once: usize, context: AnswerContext, trace: Option<Trace>) -> Self {
        let (running, waiting) = (FuturesUnordered::new(), VecDeque::new());
        Self { running, waiting, at_once, trace, open: Vec::new(), results: HashMap::new(), context }
    }

    /// Queues a call; it runs as soon as there is a place. In a replayed answer it ends as recorded.
    pub(super) fn run(&mut self, id: &str, route: Route, arguments: String) {
        let key = id.to_owned();
        self.open.push(key.clone());
        let trace = self.trace.clone();
        self.waiting.push_back(if let Some(playback) = self.context.playback().cloned() {
            Box::pin(async move {
                let is_own =
                    |input: &RecordedInput| matches!(input, RecordedInput::Tool(line) if line.call_id == key);
                let result = match playback.next(is_own).await {
                    RecordedInput::Tool(line) => line.result,
                    _ => Err(String::new()),
                };
                (key, result)
            })
        } else {
            Box::pin(async move { (key, route.call(arguments, trace.as_ref()).await) })
        });
        self.start();
    }

    fn start(&mut self) {
        while self.running.len() < self.at_once
            && let Some(call) = self.waiting.pop_front()
        {
            self.running.push(call);
        }
    }

    /// Waits for the next call to end; never ready while none runs. Cancel-safe.
    pub(super) async fn next(&mut self) -> EndedCall {
        let Some((id, result)) = self.running.next().await else { return std::future::pending().await };
        let line = |ms| Line::Tool(ToolLine { ms, call_id: id.clone(), result: result.clone() });
        self.context.record(line);
        self.open.retain(|open| *open != id);
        self.note(&id, &result);
        self.start();
        (id, result)
    }

    /// Stores the result of a call for the model.
    pub(super) fn note(&mut self, id: &str, result: &Result<String, String>) {
        let text = match result {
            Ok(output) => output.clone(),
            Err(error) => format!("Error: {error}"),
        };
        self.results.insert(id.to_owned(), text);
    }

    /// Whether no call runs or waits.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Takes a call's result for the model; none if there was no such call.
    pub(super) fn take_result(&mut self, id: &str) -> Option<String> {
        self.results.remove(id)
    }

    /// Cancels all calls. Returns their ids.
    pub(super) fn cancel(&mut self) -> Vec<String> {
        self.running.clear();
        self.waiting.clear();
        std::mem::take(&mut self.open)
    }
}

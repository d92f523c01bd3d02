//! Calls under way: so many at a time, the others in the order in which they came. Dropping them cancels them.

use std::collections::{HashMap, VecDeque};

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;

use super::toolbox::Route;

/// A call's id and how it ended.
type Ended = (String, Result<String, String>);

/// The calls of one answer.
pub(super) struct Calls {
    running: FuturesUnordered<BoxFuture<'static, Ended>>,
    waiting: VecDeque<BoxFuture<'static, Ended>>,
    at_once: usize,
    /// Ids of calls that haven't ended.
    open: Vec<String>,
    /// What those that have ended leave for the model.
    results: HashMap<String, String>,
}

impl Calls {
    /// None yet; `at_once` may run at a time.
    pub(super) fn new(at_once: usize) -> Self {
        let (running, waiting) = (FuturesUnordered::new(), VecDeque::new());
        Self { running, waiting, at_once, open: Vec::new(), results: HashMap::new() }
    }

    /// Runs a call as soon as it is its turn.
    pub(super) fn run(&mut self, id: &str, route: Route, arguments: String) {
        let key = id.to_owned();
        self.open.push(key.clone());
        self.waiting.push_back(Box::pin(async move {
            let result = route.server.call(&route.called.name, &arguments).await;
            (key, result.map_err(|error| error.to_string()))
        }));
        self.start();
    }

    fn start(&mut self) {
        while self.running.len() < self.at_once
            && let Some(call) = self.waiting.pop_front()
        {
            self.running.push(call);
        }
    }

    /// The next call that ends; never ready while none runs. May be dropped without losing anything.
    pub(super) async fn next(&mut self) -> Ended {
        let Some((id, result)) = self.running.next().await else { return std::future::pending().await };
        self.open.retain(|open| *open != id);
        self.note(&id, &result);
        self.start();
        (id, result)
    }

    /// Remembers what the model is told of a call.
    pub(super) fn note(&mut self, id: &str, result: &Result<String, String>) {
        let text = match result {
            Ok(output) => output.clone(),
            Err(error) => format!("Error: {error}"),
        };
        self.results.insert(id.to_owned(), text);
    }

    /// Whether none runs or waits.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Takes what the call left for the model; none if there was no such call.
    pub(super) fn take_result(&mut self, id: &str) -> Option<String> {
        self.results.remove(id)
    }

    /// Ends all at once; their ids.
    pub(super) fn cancel(&mut self) -> Vec<String> {
        self.running.clear();
        self.waiting.clear();
        std::mem::take(&mut self.open)
    }
}

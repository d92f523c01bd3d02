//! Servers of these tests: with scripted outputs, and with an engine whose answers end when a test
//! allows it.

use std::sync::Arc;

use model::EngineChoice;
use serde_json::{Value, json};
use tests::fake_engine::{Action, FakeEngine, done, event, head, ids};
use tests::server::{Setup, TestServer};
use tokio::sync::Semaphore;

/// A server that plays outputs.
pub(crate) struct Scripted {
    pub(crate) server: TestServer,
    _folder: tempfile::TempDir,
}

/// Answers to what was asked last, and one that never ends for `hang`.
fn rules() -> Value {
    json!([
        { "when": { "last_user_contains": "hang" }, "text": "Wait", "finish": "hang" },
        { "when": { "last_user_contains": "mute" }, "text": "", "finish": "hang" },
        { "when": { "last_user_contains": "ponder" }, "text": "<think>\nLet me see", "finish": "hang" },
        { "when": { "last_user_contains": "break" }, "text": "Wait", "finish": "error" },
        { "when": { "last_user_contains": "think" }, "text": "<think>\nHm.\n</think>\n\nThought." },
        { "when": { "last_user_contains": "weather", "tool_results": 0 },
          "text": "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Lisbon\"}}\n</tool_call>" },
        { "when": { "last_role": "tool" }, "text": "It is sunny." },
        { "when": { "last_user_contains": "alpha" }, "text": "alpha alpha alpha" },
        { "when": { "last_user_contains": "beta" }, "text": "beta beta beta" },
        { "text": "Hello!" },
    ])
}

impl Scripted {
    pub(crate) async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// Starts one whose setup is changed.
    pub(crate) async fn with(change: impl FnOnce(&mut Setup)) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut setup = Setup::replay(folder.path(), &rules());
        change(&mut setup);
        Self { server: TestServer::start(setup).await, _folder: folder }
    }
}

/// A server whose answers begin at once and end when the gate has a permit for each.
pub(crate) struct Gated {
    pub(crate) server: TestServer,
    pub(crate) engine: FakeEngine,
    pub(crate) gate: Arc<Semaphore>,
}

impl Gated {
    pub(crate) async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// Starts one whose setup is changed.
    pub(crate) async fn with(change: impl FnOnce(&mut Setup)) -> Self {
        Self::of(|_| (vec![300], Vec::new()), change).await
    }

    /// Starts one whose first answer has these two parts, each in one step and with the gate
    /// between them. Later answers are "Hello!".
    pub(crate) async fn answering(begin: &'static str, end: &'static str) -> Self {
        let answer = move |index| {
            let (begin, end) = if index == 0 { (begin, end) } else { ("Hello!", "") };
            let mut begin = ids(begin);
            begin.pop();
            (begin, ids(end))
        };
        Self::of(answer, |_| {}).await
    }

    /// Starts one whose first answer calls a tool, with the gate within the arguments. Later
    /// answers are "Hello!".
    pub(crate) async fn calling() -> Self {
        let begin = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Lis";
        Self::answering(begin, "bon\"}}\n</tool_call>").await
    }

    async fn of(
        answer: impl Fn(usize) -> (Vec<u32>, Vec<u32>) + Send + Sync + 'static,
        change: impl FnOnce(&mut Setup),
    ) -> Self {
        let gate = Arc::new(Semaphore::new(0));
        let may_end = Arc::clone(&gate);
        let engine = FakeEngine::start(move |index, _| {
            let (begin, end) = answer(index);
            vec![
                Action::Send([head(), event(&begin, None)].concat()),
                Action::Wait(Arc::clone(&may_end)),
                Action::Send([event(&end, Some("stop")), done()].concat()),
            ]
        })
        .await;
        let mut setup = Setup::default();
        setup.model.engine = engine.url().parse::<EngineChoice>().expect("a URL");
        change(&mut setup);
        Self { server: TestServer::start(setup).await, engine, gate }
    }

    /// Waits until the engine has had this many requests.
    pub(crate) async fn asked(&self, count: usize) {
        self.engine.received.wait_until(|log| log.requests().len() == count).await;
    }
}

//! A remote engine in a process of its own, which writes a token to every stream at each tick. Ticks
//! are multiples of the pace since 1970, so that a client can tell how late a token is.
//!
//! A benchmark that uses it calls [`run_if_asked`] first: the engine's process runs the same
//! program.
#![expect(clippy::print_stdout, reason = "the address is written to the benchmark's process")]

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::fake_engine::{Action, FakeEngine, done, event, head, ids};

/// First argument of the engine's process.
const ENGINE: &str = "--engine-process";

/// Child process that is killed when dropped.
pub struct Process(pub Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The engine's process.
pub struct PacedEngine {
    /// Address on which it listens.
    pub address: SocketAddr,
    _process: Process,
}

impl PacedEngine {
    /// Starts an engine whose answers have this many tokens, with so many milliseconds between two.
    ///
    /// # Panics
    /// If it doesn't start.
    pub fn start(tokens: usize, pace_ms: u64) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this program has a path"))
            .args([ENGINE, &tokens.to_string(), &pace_ms.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("piped");
        BufReader::new(stdout).read_line(&mut line).expect("it writes its address");
        Self { address: line.trim().parse().expect("an address"), _process: Process(child) }
    }
}

/// Returns whether this process was started as the engine's. If so, it first serves until its input
/// ends.
///
/// # Panics
/// If it can't listen.
pub fn run_if_asked() -> bool {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [word, tokens, pace_ms] = &arguments[..] else { return false };
    if word != ENGINE {
        return false;
    }
    run(tokens.parse().expect("a number"), Duration::from_millis(pace_ms.parse().expect("a number")));
    true
}

/// Event of Chat Completions, for clients that send such requests to the fake.
fn chat_event(text: &str, finish: Option<&str>) -> Vec<u8> {
    let choice = json!({ "index": 0, "delta": { "content": text }, "finish_reason": finish });
    let event = json!({ "id": "c", "object": "chat.completion.chunk", "created": 1, "model": "bench", "choices": [choice] });
    format!("data: {event}\n\n").into_bytes()
}

fn run(tokens: usize, pace: Duration) {
    let ids = ids(&("<think>\n\n</think>\n\n".to_owned() + &"a ".repeat(tokens)));
    let (end, all) = ids.split_last().expect("a text");
    let last = [event(&[*end], Some("stop")), done()].concat();
    let events: Arc<[Vec<u8>]> = all.iter().map(|id| event(&[*id], None)).chain([last]).collect();
    let end = [chat_event("", Some("stop")), b"data: [DONE]\n\n".to_vec()].concat();
    let chat: Arc<[Vec<u8>]> = (0..tokens).map(|_| chat_event("a ", None)).chain([end]).collect();
    let script = move |_: usize, body: &Value| {
        let events = if body["messages"].is_null() { &events } else { &chat };
        vec![Action::Send(head()), Action::Paced(Arc::clone(events), pace)]
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let engine = FakeEngine::start(script).await;
        println!("{}", engine.address);
        std::io::stdout().flush().expect("somebody listens");
        let ended = tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new()));
        let _ = ended.await;
    });
}

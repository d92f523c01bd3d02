//! Benchmark of stored responses, through the whole server and SQLite on disk: what storing adds to
//! a response, commits in a second, bytes for a token, resuming late in a log, long chains, and
//! what the log of a background answer costs per token.
//!
//! `cargo bench-dist -p tests --bench state`; the server is the binary that `SLUICE_HOST`
//! names, else the one beside the benchmark.
#![expect(clippy::print_stdout, reason = "its result is what it prints")]

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};
use store::{Options, Sqlite, Store};
use tests::client::{answered, get, metric, post};
use tests::process::ServerProcess;

/// Responses at the same time, and how many each client asks for.
const LOADS: [(usize, usize); 3] = [(1, 400), (50, 40), (500, 8)];
/// Tokens of the long background answer.
const LONG: usize = 100_100;
/// Responses of the chain.
const CHAIN: usize = 1000;
const WRITES: &str = r#"sluice_store_transaction_seconds_count{kind="write"}"#;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let stored = Stored::start();
        for (at_once, each) in LOADS {
            added(stored.server.address, at_once, each).await;
        }
        let stored = Stored::start();
        chain(stored.server.address).await;
        println!("chain of {CHAIN}: {} bytes a response", stored.bytes().await / CHAIN as u64);
        let stored = Stored::start();
        log(&stored.server).await;
        #[expect(clippy::cast_precision_loss, reason = "small counts")]
        let bytes = stored.bytes().await as f64 / LONG as f64;
        println!("a token of a background answer: {bytes:.1} bytes stored, in its event and in the item");
    });
}

/// A server with a file of its own.
struct Stored {
    server: ServerProcess,
    folder: tempfile::TempDir,
}

impl Stored {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = format!("sqlite:{}", Self::file(&folder).display());
        let long = "<think>\n\n</think>\n\n".to_owned() + &"a ".repeat(LONG);
        let rules = json!([
            { "when": { "last_user_contains": "long" }, "text": long },
            { "text": "<think>\n\n</think>\n\nFour, and nothing else." },
        ]);
        let switches = ["--store", &store, "--store-log", "1024", "--context", "200000"];
        Self { server: ServerProcess::start(&rules, &switches), folder }
    }

    fn file(folder: &tempfile::TempDir) -> PathBuf {
        folder.path().join("state.db")
    }

    /// Ends the server. Returns the bytes of what it stored, as its bounds count them.
    async fn bytes(self) -> u64 {
        let Self { server, folder } = self;
        server.stop();
        let store = Sqlite::open(&Self::file(&folder), &Options::default()).expect("it opens");
        store.stats().await.expect("it works").owners.iter().map(|(_, bytes)| bytes).sum()
    }
}

fn body(input: &str, more: &Value) -> Value {
    let mut body = json!({ "model": "bench", "input": input });
    body.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
    body
}

/// Wall time of `each` responses one after the other, for `at_once` clients together.
async fn respond(address: SocketAddr, at_once: usize, each: usize, store: bool) -> Duration {
    let began = Instant::now();
    let client = async || {
        for _ in 0..each {
            answered(address, "/v1/responses", &body("2+2?", &json!({ "store": store }))).await;
        }
    };
    futures_util::future::join_all((0..at_once).map(|_| client())).await;
    began.elapsed()
}

/// What storing adds to a response.
async fn added(address: SocketAddr, at_once: usize, each: usize) {
    let (mut with, mut without, mut commits) = (Vec::new(), Vec::new(), 0.0);
    for _ in 0..3 {
        without.push(respond(address, at_once, each, false).await);
        let before = metric(address, WRITES).await;
        with.push(respond(address, at_once, each, true).await);
        commits = metric(address, WRITES).await - before;
    }
    with.sort();
    without.sort();
    let (with, without) = (with[1].as_secs_f64(), without[1].as_secs_f64());
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    let (each, all) = (each as f64, (at_once * each) as f64);
    println!(
        "{at_once} at once: {:.2} ms a response, {:.2} ms unstored: {:.2} ms added, {:.3} ms of the machine's; {:.0} commits/s",
        with * 1e3 / each,
        without * 1e3 / each,
        (with - without) * 1e3 / each,
        (with - without) * 1e3 / all,
        commits / with,
    );
}

/// A chain: what its links cost on the way.
async fn chain(address: SocketAddr) {
    let (mut parent, mut last) = (Value::Null, Instant::now());
    for link in 1..=CHAIN {
        let more = json!({ "previous_response_id": parent, "max_output_tokens": 1, "truncation": "auto" });
        parent = answered(address, "/v1/responses", &body("2+2?", &more)).await["id"].clone();
        if [10, 100, 500, CHAIN].contains(&link) {
            let now = Instant::now();
            let more = json!({ "previous_response_id": parent, "max_output_tokens": 1, "truncation": "auto", "store": false });
            answered(address, "/v1/responses", &body("2+2?", &more)).await;
            println!(
                "chain of {link}: {:.1} ms for one that continues it; {:.1} s since the last figure",
                now.elapsed().as_secs_f64() * 1e3,
                last.elapsed().as_secs_f64()
            );
            last = Instant::now();
        }
    }
}

/// The log of a long background answer.
async fn log(server: &ServerProcess) {
    let address = server.address;
    let cpu = || {
        let time = server.cpu_time();
        (time.user + time.system).as_secs_f64()
    };
    let before = cpu();
    let unstored = post(address, "/v1/responses", &body("long", &json!({ "store": false }))).await;
    assert_eq!(unstored.status, 200);
    let plain = cpu() - before;
    let before = cpu();
    let queued = answered(address, "/v1/responses", &body("long", &json!({ "background": true }))).await;
    let path = format!("/v1/responses/{}", queued["id"].as_str().expect("an id"));
    while get(address, &path).await.json()["completed_at"].is_null() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let logged = cpu() - before;
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    let tokens = LONG as f64;
    println!(
        "a token of a background answer: {:.2} µs of CPU, {:.2} µs unstored in one piece: {:.2} µs for events and log",
        logged * 1e6 / tokens,
        plain * 1e6 / tokens,
        (logged - plain) * 1e6 / tokens
    );
    for after in [10, 1000, 100_000] {
        let began = Instant::now();
        let path = format!("{path}?stream=true&starting_after={after}");
        let request = Request::get(path).header("host", "localhost").body(Full::default());
        let mut stream = tests::client::open(address, request.expect("a request")).await;
        stream.next().await.expect("events");
        println!(
            "resumed behind event {after}: {:.1} ms to the first byte",
            began.elapsed().as_secs_f64() * 1e3
        );
    }
}

//! Conversations: one key makes more of them than it may keep, and many clients ask for the largest
//! page at once.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::client;
use tests::post::{self, post_with_key};
use tests::process::ServerProcess;

use super::row::{Bars, Row};

const PATH: &str = "/v1/conversations";
/// Conversations that the key makes, and how many at once.
const MANY: usize = 100_000;
const AT_ONCE: usize = 32;
/// Bars: each conversation is a request and a commit. What is kept in memory is SQLite's cache.
const MANY_BARS: Bars = Bars { cpu: Duration::from_mins(3), peak_mib: 128.0, kept_mib: 64.0 };
/// Bar for the other key's slowest request.
const OTHER_BAR: Duration = Duration::from_millis(500);
/// Time between two requests of the other key.
const PAUSE: Duration = Duration::from_millis(20);

/// Requests for the page, and its size in MiB.
const READERS: usize = 64;
const PAGE_MIB: usize = 60;
/// The answers may hold the memory for requests; the others are refused. Two are being read from
/// the store meanwhile.
const PAGE_BARS: Bars = Bars { cpu: Duration::from_mins(1), peak_mib: 512.0, kept_mib: 128.0 };

/// Runs the attacks that are asked.
pub(crate) fn run(is_asked: &impl Fn(&str) -> bool) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = format!("sqlite:{}", folder.path().join("state.db").display());
    let name = "100,000 conversations of another key";
    if is_asked(name) {
        many(name, &store);
    }
    let name = "64 pages of 60 MiB of a conversation";
    if is_asked(name) {
        pages(name);
    }
}

fn deadline() -> Instant {
    Instant::now() + Duration::from_mins(10)
}

fn many(name: &str, store: &str) {
    let server = ServerProcess::start_with_engine(
        "local",
        &["--api-key", "one", "--api-key", "two", "--parser", "none", "--store", store],
    );
    let body = json!({ "items": [{ "role": "user", "content": "x".repeat(10_000) }] }).to_string();
    let mut slowest = Duration::ZERO;
    let attack = || {
        std::thread::scope(|scope| {
            let address = server.address;
            let attack = scope.spawn(move || {
                let make = |_| post_with_key(address, PATH, "one", body.as_bytes(), AT_ONCE, deadline());
                (0..MANY / AT_ONCE).flat_map(make).collect::<Vec<_>>()
            });
            let mut answers = Vec::new();
            while !attack.is_finished() {
                let began = Instant::now();
                answers.extend(post_with_key(address, PATH, "two", b"{}", 1, deadline()));
                slowest = slowest.max(began.elapsed());
                std::thread::sleep(PAUSE);
            }
            answers.extend(attack.join().expect("clients don't panic"));
            answers
        })
    };
    let row = Row::measure(&server, attack);
    row.with_other(slowest, OTHER_BAR).print(name, MANY_BARS);
}

fn pages(name: &str) {
    let server = ServerProcess::start_with_engine("local", &["--parser", "none", "--store", "memory"]);
    let path = format!("{}/items?limit=100", large(&server));
    let attack = || {
        std::thread::scope(|scope| {
            let readers: Vec<_> =
                (0..READERS).map(|_| scope.spawn(|| post::get(server.address, &path, deadline()))).collect();
            readers.into_iter().map(|reader| reader.join().expect("clients don't panic")).collect()
        })
    };
    Row::measure(&server, attack).print(name, PAGE_BARS);
}

/// Makes a conversation of that size. Returns its path.
fn large(server: &ServerProcess) -> String {
    let runtime = tokio::runtime::Runtime::new().expect("threads can be had");
    runtime.block_on(async {
        let made = client::answered(server.address, PATH, &json!({})).await;
        let path = format!("{PATH}/{}", made["id"].as_str().expect("an id"));
        let text = "x".repeat((PAGE_MIB << 20) / 100);
        let items: Vec<Value> = (0..20).map(|_| json!({ "role": "user", "content": text })).collect();
        for _ in 0..5 {
            client::answered(server.address, &format!("{path}/items"), &json!({ "items": items })).await;
        }
        path
    })
}

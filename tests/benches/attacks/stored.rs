//! Stored responses and completions: crowds that follow and read nothing, keys that fill their
//! queues, floods of metadata, references and pages, a store that is over its bounds. Another key
//! asks meanwhile.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tests::client;
use tests::post::{Answer, get, get_with_key, post_with_key};
use tests::process::ServerProcess;

use super::row::{Bars, Row};

const RESPONSES: &str = "/v1/responses";
const COMPLETIONS: &str = "/v1/chat/completions";
/// A list that the other key reads.
const LIST: &str = "/v1/chat/completions?limit=1";
const COUNT: &str = "/v1/responses/input_tokens";
/// Bar for the other key's slowest request, and the time between two of them.
const OTHER_BAR: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(20);

/// Followers, and the tokens of what they follow, one in two milliseconds.
const FOLLOWERS: usize = 2000;
const TOKENS: usize = 5000;
/// Each holds its connection and what was read for it; their events are read from the store once
/// more for each of them.
const FOLLOWED: Bars = Bars { cpu: Duration::from_mins(1), peak_mib: 768.0, kept_mib: 768.0 };

/// Keys, and the background responses that each asks for: 16 run, 256 wait, the others are refused.
const KEYS: usize = 40;
const ASKED: usize = 288;
const QUEUED: Bars = Bars { cpu: Duration::from_mins(2), peak_mib: 256.0, kept_mib: 256.0 };

/// Completions with the most metadata, updates, and how many are made at once.
const MADE: usize = 8000;
const UPDATED: usize = 8000;
const AT_ONCE: usize = 32;
/// References of one request, to an item of so many bytes, and how often they are sent.
const REFERENCES: usize = 1000;
const LARGE: usize = 3 << 20;
const SENT: usize = 16;
const REFERRED: Bars = Bars { cpu: Duration::from_secs(30), peak_mib: 320.0, kept_mib: 128.0 };

/// References of one request to a small item, threads that send it, and how often each does.
const SMALL_REFERENCES: usize = 16_000;
const THREADS: usize = 6;
const ROUNDS: usize = 8;
const CROWDED: Bars = Bars { cpu: Duration::from_mins(2), peak_mib: 320.0, kept_mib: 192.0 };

/// Large completions, and how many ask for their list at once.
const LISTED: usize = 24;
const READERS: usize = 64;
const LISTS: Bars = Bars { cpu: Duration::from_mins(1), peak_mib: 384.0, kept_mib: 192.0 };

/// Switches of a server whose keys have memory for two large completions that are being sent.
const TIGHT: &[&str] = &["--request-memory", "32", "--max-body", "4"];

/// Responses of a store that is started with a lower bound, in MiB, and the requests behind it.
const STORED: usize = 24_000;
const LOWERED: &str = "8";
const REQUESTS: usize = 100;
const EVICTED: Bars = Bars { cpu: Duration::from_mins(1), peak_mib: 128.0, kept_mib: 96.0 };

const TAGGED: Bars = Bars { cpu: Duration::from_mins(2), peak_mib: 256.0, kept_mib: 192.0 };

/// Runs the attacks that are asked.
pub(crate) fn run(is_asked: &impl Fn(&str) -> bool) {
    type Attack = fn(&str, &str);
    let attacks: [(&str, Attack); 8] = [
        ("2,000 followers that read nothing", followers),
        ("40 keys that fill their queues", queues),
        ("8,000 completions with metadata, as many updates", metadata),
        ("16 times 1,000 references to an item of 3 MiB", references),
        ("6 threads of 16,000 references", crowded_references),
        ("64 lists of completions of 3 MiB", lists),
        ("64 reads of a completion of 3 MiB", singles),
        ("a store of 24,000 responses over its bound", lowered),
    ];
    for (name, attack) in attacks.into_iter().filter(|(name, _)| is_asked(name)) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        attack(name, &format!("sqlite:{}", folder.path().join("state.db").display()));
    }
}

fn deadline() -> Instant {
    Instant::now() + Duration::from_mins(10)
}

fn start(store: &str, keys: usize, more: &[&str]) -> ServerProcess {
    let rules = json!([
        { "when": { "last_user_contains": "long" }, "text": "a ".repeat(TOKENS), "pace_ms": 2 },
        { "when": { "last_user_contains": "large" }, "text": "x".repeat(LARGE) },
        { "when": { "last_user_contains": "slow" }, "text": "a ".repeat(20), "pace_ms": 100 },
        { "text": "Four." }
    ]);
    let keys: Vec<String> = (0..keys).map(|key| format!("key-{key}")).chain(["other".to_owned()]).collect();
    let keys = keys.iter().flat_map(|key| ["--api-key", key]);
    let switches = ["--parser", "none", "--context", "100000", "--store", store];
    ServerProcess::start(&rules, &keys.chain(switches).chain(more.iter().copied()).collect::<Vec<_>>())
}

fn ask(address: SocketAddr, key: &str, input: &str, background: bool) -> Answer {
    let body = json!({ "model": "bench", "input": input, "background": background }).to_string();
    post_with_key(address, RESPONSES, key, body.as_bytes(), 1, deadline()).pop().expect("one")
}

/// Runs an attack while the other key asks for stored responses and reads a list, and prints its
/// row.
fn measure(name: &str, server: &ServerProcess, bars: Bars, attack: impl FnOnce() -> Vec<Answer> + Send) {
    let mut slowest = Duration::ZERO;
    let both = || {
        std::thread::scope(|scope| {
            let attack = scope.spawn(attack);
            let mut answers = Vec::new();
            while !attack.is_finished() {
                let began = Instant::now();
                answers.push(ask(server.address, "other", "2+2?", false));
                slowest = slowest.max(began.elapsed());
                let began = Instant::now();
                answers.push(get_with_key(server.address, LIST, "other", deadline()));
                slowest = slowest.max(began.elapsed());
                std::thread::sleep(PAUSE);
            }
            answers.extend(attack.join().expect("clients don't panic"));
            answers
        })
    };
    let row = Row::measure(server, both);
    row.with_other(slowest, OTHER_BAR).print(name, bars);
}

fn json_of(address: SocketAddr, method: &str, path: &str, body: &Value) -> Value {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("authorization", "Bearer key-0")
        .body(body.into());
    runtime.block_on(client::send(address, request.expect("a request"))).json()
}

fn followers(name: &str, store: &str) {
    let server = start(store, 1, &[]);
    let address = server.address;
    let body = json!({ "model": "bench", "input": "long", "background": true });
    let queued = json_of(address, "POST", RESPONSES, &body);
    let path = format!("{RESPONSES}/{}", queued["id"].as_str().expect("an id"));
    let follow = || -> Result<TcpStream, &'static str> {
        let mut socket = TcpStream::connect(address).map_err(|_| "no-connection")?;
        let head = format!("GET {path}?stream=true HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: key-0\r\n\r\n");
        socket.write_all(head.as_bytes()).map_err(|_| "cut")?;
        let mut status = [0; 12];
        socket.read_exact(&mut status).map_err(|_| "cut")?;
        if status.ends_with(b"200") { Ok(socket) } else { Err("refused") }
    };
    measure(name, &server, FOLLOWED, || {
        let crowd: Vec<_> = (0..FOLLOWERS).map(|_| follow()).collect();
        // The generation goes on meanwhile.
        while json_of(address, "GET", &path, &Value::Null)["status"] != "completed" {
            std::thread::sleep(PAUSE);
        }
        crowd.into_iter().map(|follower| follower.map(|_| 200)).collect()
    });
}

fn queues(name: &str, store: &str) {
    let server = start(store, KEYS, &[]);
    let address = server.address;
    measure(name, &server, QUEUED, || {
        std::thread::scope(|scope| {
            let flood = |key: usize| {
                move || {
                    (0..ASKED).map(|_| ask(address, &format!("key-{key}"), "slow", true)).collect::<Vec<_>>()
                }
            };
            let floods: Vec<_> = (0..KEYS).map(|key| scope.spawn(flood(key))).collect();
            floods.into_iter().flat_map(|flood| flood.join().expect("clients don't panic")).collect()
        })
    });
}

fn metadata(name: &str, store: &str) {
    let server = start(store, 1, &["--store-owner-size", "32"]);
    let address = server.address;
    let metadata = |letter: &str| -> Value {
        let pair = |number| (format!("{number:02}{}", letter.repeat(62)), json!(letter.repeat(512)));
        (0..16).map(pair).collect::<Map<_, _>>().into()
    };
    let post = |path: &str, body: &Value| {
        post_with_key(address, path, "key-0", body.to_string().as_bytes(), AT_ONCE, deadline())
    };
    measure(name, &server, TAGGED, || {
        let messages = json!([{ "role": "user", "content": "x" }]);
        let body =
            json!({ "model": "bench", "messages": messages, "store": true, "metadata": metadata("x") });
        let mut answers: Vec<Answer> = (0..MADE / AT_ONCE).flat_map(|_| post(COMPLETIONS, &body)).collect();
        let list = json_of(address, "GET", &format!("{COMPLETIONS}?order=desc&limit=1"), &Value::Null);
        let path = format!("{COMPLETIONS}/{}", list["data"][0]["id"].as_str().expect("an id"));
        for round in 0..UPDATED / AT_ONCE {
            let letter = if round % 2 == 0 { "é" } else { "y" };
            answers.extend(post(&path, &json!({ "metadata": metadata(letter) })));
        }
        answers.push(get(address, "/health", deadline()));
        answers
    });
}

/// The id of a stored item of `bytes`.
fn item(address: SocketAddr, bytes: usize) -> Value {
    let items = json!([{ "role": "user", "content": "x".repeat(bytes) }]);
    let conversation = json_of(address, "POST", "/v1/conversations", &json!({ "items": items }));
    let path = format!("/v1/conversations/{}/items", conversation["id"].as_str().expect("an id"));
    json_of(address, "GET", &path, &Value::Null)["first_id"].clone()
}

/// A request for tokens with this many references to an item.
fn referring(item: &Value, count: usize) -> String {
    let reference = json!({ "type": "item_reference", "id": item });
    json!({ "model": "bench", "input": vec![reference; count] }).to_string()
}

fn references(name: &str, store: &str) {
    let server = start(store, 1, &[]);
    let address = server.address;
    let body = referring(&item(address, LARGE), REFERENCES);
    measure(name, &server, REFERRED, || {
        post_with_key(address, COUNT, "key-0", body.as_bytes(), SENT, deadline())
    });
}

fn crowded_references(name: &str, store: &str) {
    let server = start(store, 1, &["--max-messages", "20000"]);
    let address = server.address;
    let body = referring(&item(address, 64), SMALL_REFERENCES);
    measure(name, &server, CROWDED, || {
        let send = |_| post_with_key(address, COUNT, "key-0", body.as_bytes(), THREADS, deadline());
        (0..ROUNDS).flat_map(send).collect()
    });
}

fn lists(name: &str, store: &str) {
    let server = start(store, 1, &[]);
    for _ in 0..LISTED {
        large_completion(server.address);
    }
    read_at_once(name, &server, &format!("{COMPLETIONS}?limit=100"));
}

fn singles(name: &str, store: &str) {
    let server = start(store, 1, TIGHT);
    let completion = large_completion(server.address);
    read_at_once(name, &server, &format!("{COMPLETIONS}/{completion}"));
}

/// Stores a large completion. Returns its id.
fn large_completion(address: SocketAddr) -> String {
    let messages = json!([{ "role": "user", "content": "large" }]);
    let body = json!({ "model": "bench", "messages": messages, "store": true });
    json_of(address, "POST", COMPLETIONS, &body)["id"].as_str().expect("an id").to_owned()
}

/// Reads a path many times at once.
fn read_at_once(name: &str, server: &ServerProcess, path: &str) {
    let address = server.address;
    measure(name, server, LISTS, || {
        std::thread::scope(|scope| {
            let read = || get_with_key(address, path, "key-0", deadline());
            let readers: Vec<_> = (0..READERS).map(|_| scope.spawn(read)).collect();
            readers.into_iter().map(|reader| reader.join().expect("clients don't panic")).collect()
        })
    });
}

fn lowered(name: &str, store: &str) {
    let server = start(store, 1, &[]);
    let body = json!({ "model": "bench", "input": "x".repeat(1000) }).to_string();
    for _ in 0..STORED / AT_ONCE {
        post_with_key(server.address, RESPONSES, "key-0", body.as_bytes(), AT_ONCE, deadline());
    }
    server.stop();
    let server = start(store, 1, &["--store-owner-size", LOWERED]);
    let address = server.address;
    measure(name, &server, EVICTED, || (0..REQUESTS).map(|_| ask(address, "key-0", "2+2?", false)).collect());
}

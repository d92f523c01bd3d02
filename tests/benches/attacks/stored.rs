//! Stored responses and completions: crowds that follow and read nothing, keys that fill their
//! queues, floods of metadata. Another key asks meanwhile.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tests::client;
use tests::post::{Answer, get, post_with_key};
use tests::process::ServerProcess;

use super::row::{Bars, Row};

const RESPONSES: &str = "/v1/responses";
const COMPLETIONS: &str = "/v1/chat/completions";
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
const TAGGED: Bars = Bars { cpu: Duration::from_mins(2), peak_mib: 256.0, kept_mib: 192.0 };

/// Runs the attacks that are asked.
pub(crate) fn run(is_asked: &impl Fn(&str) -> bool) {
    type Attack = fn(&str, &str);
    let attacks: [(&str, Attack); 3] = [
        ("2,000 followers that read nothing", followers),
        ("40 keys that fill their queues", queues),
        ("8,000 completions with metadata, as many updates", metadata),
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

/// Runs an attack while the other key asks for stored responses, and prints its row.
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

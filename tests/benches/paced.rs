//! What a token of a stream costs the server with everything around it, sockets too: the CPU time of its process per token, for many streams
//! at the pace of a model and for few as fast as they go. The clients are a process of their own.
//!
//! `cargo bench --profile dist -p tests --bench paced`; the server is the binary that `SLUICE_HOST` names, else the one beside the benchmark.
#![expect(clippy::print_stdout, reason = "its result is what it prints")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use host::api::Protocol;
use serde_json::json;
use tests::process::ServerProcess;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// Twenty tokens a second.
const PACE_MS: u64 = 50;
/// Microseconds of CPU that a token of a paced stream may cost.
const BAR: f64 = 12.0;
const RUNS: usize = 3;

/// Streams at one time, and the tokens of each.
#[derive(Clone, Copy)]
struct Load {
    name: &'static str,
    streams: usize,
    tokens: usize,
    pace_ms: u64,
}

const LOADS: [Load; 2] = [
    Load { name: "paced", streams: 1000, tokens: 200, pace_ms: PACE_MS },
    Load { name: "unpaced", streams: 50, tokens: 3600, pace_ms: 0 },
];

/// The other process, with its streams under way.
struct Clients {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Clients {
    fn start(server: &ServerProcess, load: Load, protocol: Protocol) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this program has a path"))
            .args(["--clients", &server.address.to_string(), path(protocol), load.name])
            .arg(load.streams.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program starts");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        Self { child, stdout }
    }

    /// Events that have come at the next of its two marks: all streams have begun, all have ended.
    fn mark(&mut self) -> u64 {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("it writes text");
        line.trim().parse().expect("a number of events")
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn path(protocol: Protocol) -> &'static str {
    if protocol == Protocol::Chat { "/v1/chat/completions" } else { "/v1/responses" }
}

/// Microseconds of the server's CPU time per event (one for each token, but for the few that open and close an answer), from when all
/// streams have begun to when all have ended.
fn per_token(load: Load, protocol: Protocol) -> f64 {
    let text = "<think>\n\n</think>\n\n".to_owned() + &"a ".repeat(load.tokens);
    let server = ServerProcess::start(&json!([{ "text": text, "pace_ms": load.pace_ms }]), &[]);
    // Those that go as fast as they can are half over when all have begun: their beginning counts as well.
    let (mut cpu, mut before) = (server.cpu_time(), 0);
    let mut clients = Clients::start(&server, load, protocol);
    let begun = clients.mark();
    if load.pace_ms > 0 {
        (cpu, before) = (server.cpu_time(), begun);
    }
    let events = clients.mark() - before;
    server.cpu_time().saturating_sub(cpu).as_secs_f64() * 1e6
        / f64::from(u32::try_from(events).expect("not so many"))
}

fn median(load: Load, protocol: Protocol) -> f64 {
    let mut figures: Vec<f64> = (0..RUNS).map(|_| per_token(load, protocol)).collect();
    figures.sort_by(f64::total_cmp);
    figures[RUNS / 2]
}

/// The streams of the other process, and what has come of them.
#[derive(Default)]
struct Progress {
    begun: AtomicUsize,
    events: AtomicU64,
}

/// Reads one stream to its end.
async fn read(address: String, request: Arc<str>, streams: usize, progress: Arc<Progress>) {
    let mut socket = TcpStream::connect(address).await.expect("the server listens");
    socket.write_all(request.as_bytes()).await.expect("it reads");
    let (mut buffer, mut begun, mut last) = (vec![0; 64 << 10], false, 0);
    loop {
        let count = socket.read(&mut buffer).await.expect("it isn't cut off");
        if count == 0 {
            return;
        }
        let mut ends = 0;
        for byte in &buffer[..count] {
            ends += u64::from(*byte == b'\n' && last == b'\n');
            last = *byte;
        }
        let events = progress.events.fetch_add(ends, Ordering::AcqRel) + ends;
        if !begun && ends > 0 {
            begun = true;
            if progress.begun.fetch_add(1, Ordering::AcqRel) + 1 == streams {
                say(events);
            }
        }
    }
}

fn say(events: u64) {
    println!("{events}");
    std::io::stdout().flush().expect("somebody listens");
}

/// The other process: so many streams at a time, from first to last.
fn run_clients(arguments: &[String]) {
    let [address, path, name, streams] = arguments else { panic!("--clients ADDRESS PATH NAME STREAMS") };
    let streams: usize = streams.parse().expect("a number");
    let body = json!({ "model": "bench", "input": name, "messages": [{ "role": "user", "content": name }], "stream": true }).to_string();
    let request: Arc<str> = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let progress = Arc::new(Progress::default());
        let mut readers = JoinSet::new();
        for _ in 0..streams {
            readers.spawn(read(address.clone(), Arc::clone(&request), streams, Arc::clone(&progress)));
        }
        readers.join_all().await;
        say(progress.events.load(Ordering::Acquire));
    });
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|word| word == "--clients") {
        return run_clients(&arguments[1..]);
    }
    println!("{:10}{:>10}{:>12}  µs of the server's CPU per token", "load", "streams", "tokens");
    for load in LOADS {
        for protocol in [Protocol::Responses, Protocol::Chat] {
            let figure = median(load, protocol);
            let verdict = match load.pace_ms {
                0 => String::new(),
                _ if figure <= BAR => format!("   bar {BAR}: met"),
                _ => format!("   bar {BAR}: MISSED"),
            };
            println!(
                "{:10}{:10}{:12}  {:?} {figure:.1}{verdict}",
                load.name, load.streams, load.tokens, protocol
            );
        }
    }
}

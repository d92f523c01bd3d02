//! What a token of a stream costs the server with everything around it, sockets too: the CPU time of its process per token, for many streams
//! at the pace of a model and for few as fast as they go. The clients are a process of their own.
//!
//! Beside it stands what a write to a socket costs a bare thread that does nothing else, measured in turn with the server: that much of a
//! token is the kernel's, for both ends of a connection over the loopback interface.
//!
//! `cargo bench --profile dist -p tests --bench paced`; the server is the binary that `SLUICE_HOST` names, else the one beside the benchmark.
#![expect(clippy::print_stdout, reason = "its result is what it prints")]

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use host::api::Protocol;
use serde_json::json;
use tests::measure::thread_cpu;
use tests::process::{CpuTime, ServerProcess};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// Twenty tokens a second.
const PACE_MS: u64 = 50;
/// Microseconds of CPU that a token of a paced stream may cost.
const BAR: f64 = 12.0;
const RUNS: usize = 3;
/// Bytes of an event with its chunk's frame, about.
const EVENT: usize = 256;
/// Writes to each socket.
const BARE_WRITES: u32 = 60;

/// Streams at one time, and the tokens of each.
#[derive(Clone, Copy)]
struct Load {
    name: &'static str,
    streams: u32,
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
    fn start(server: SocketAddr, load: Load, protocol: Protocol) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this program has a path"))
            .args(["--clients", &server.to_string(), path(protocol), load.name])
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

/// Microseconds of CPU time per token.
#[derive(Clone, Copy)]
struct Cost {
    user: f64,
    system: f64,
}

impl Cost {
    fn new(before: CpuTime, after: CpuTime, events: u64) -> Self {
        let events = f64::from(u32::try_from(events).expect("not so many"));
        let each = |after: Duration, before| after.saturating_sub(before).as_secs_f64() * 1e6 / events;
        Self { user: each(after.user, before.user), system: each(after.system, before.system) }
    }

    fn sum(self) -> f64 {
        self.user + self.system
    }
}

/// What an event costs the server (there is one for each token, but for the few that open and close an answer), from when all streams
/// have begun to when all have ended.
fn per_token(load: Load, protocol: Protocol) -> Cost {
    let text = "<think>\n\n</think>\n\n".to_owned() + &"a ".repeat(load.tokens);
    let server = ServerProcess::start(&json!([{ "text": text, "pace_ms": load.pace_ms }]), &[]);
    // Those that go as fast as they can are half over when all have begun: their beginning counts as well.
    let (mut cpu, mut before) = (server.cpu_time(), 0);
    let mut clients = Clients::start(server.address, load, protocol);
    let begun = clients.mark();
    if load.pace_ms > 0 {
        (cpu, before) = (server.cpu_time(), begun);
    }
    let events = clients.mark() - before;
    Cost::new(cpu, server.cpu_time(), events)
}

/// Microseconds of CPU that a write to one of as many sockets at the same pace costs a thread that does nothing else.
fn bare_write(load: Load) -> f64 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let clients = Clients::start(listener.local_addr().expect("it is bound"), load, Protocol::Chat);
    let mut sockets: Vec<_> =
        (0..load.streams).map(|_| listener.accept().expect("the clients connect").0).collect();
    for socket in &sockets {
        socket.set_nodelay(true).expect("a TCP socket");
    }
    let began = thread_cpu();
    for _ in 0..BARE_WRITES {
        for socket in &mut sockets {
            socket.write_all(&[b'x'; EVENT]).expect("the clients read");
        }
        std::thread::sleep(Duration::from_millis(load.pace_ms));
    }
    let cpu = thread_cpu().saturating_sub(began);
    // They would take the end of a socket whose request wasn't read for a fault.
    drop(clients);
    cpu.as_secs_f64() * 1e6 / f64::from(BARE_WRITES * load.streams)
}

/// Median costs of a token, and of a bare write where the load is paced.
fn medians(load: Load, protocol: Protocol) -> (Cost, Option<f64>) {
    let (mut costs, mut writes) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        costs.push(per_token(load, protocol));
        if load.pace_ms > 0 {
            writes.push(bare_write(load));
        }
    }
    costs.sort_by(|one, other| one.sum().total_cmp(&other.sum()));
    writes.sort_by(f64::total_cmp);
    (costs[RUNS / 2], writes.get(RUNS / 2).copied())
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
    println!(
        "{:10}{:>8}{:>8}  {:12}{:>8}{:>8}{:>8}{:>12}  µs of the server's CPU per token",
        "load", "streams", "tokens", "protocol", "user", "system", "sum", "bare write"
    );
    for load in LOADS {
        for protocol in [Protocol::Responses, Protocol::Chat] {
            print_figures(load, protocol);
        }
    }
}

fn print_figures(load: Load, protocol: Protocol) {
    let (cost, write) = medians(load, protocol);
    let Cost { user, system } = cost;
    let verdict = match write {
        None => String::new(),
        Some(write) => {
            let verdict = if cost.sum() <= BAR { "met" } else { "MISSED" };
            format!("{write:12.1}  bar {BAR}: {verdict}")
        }
    };
    println!(
        "{:10}{:8}{:8}  {:12}{user:8.1}{system:8.1}{:8.1}{verdict}",
        load.name,
        load.streams,
        load.tokens,
        format!("{protocol:?}"),
        cost.sum()
    );
}

//! Benchmark of a crowd: 1,000 streams for five minutes beside 10,000 idle connections, half of the
//! time with the trace of one answer open at the inspector's route. The server's memory, the delay
//! of a token from the engine's step to the client, and the number of tokens, of which none may be
//! lost. Each step gives all streams a token at the same moment, as one batch does. The streams'
//! clients are a process of their own.
//!
//! `cargo bench-dist -p tests --bench crowd`; `SECONDS` sets another time. The server is
//! the binary that `SLUICE_HOST` names, else the one beside the benchmark.
#![expect(clippy::print_stdout, reason = "its result is what it prints")]

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::JoinHandle;

use serde_json::json;
use tests::load::{self, Clients, Load};
use tests::process::ServerProcess;

const STREAMS: u32 = 1000;
const IDLE: usize = 10_000;
/// Milliseconds between tokens: twenty tokens a second.
const PACE_MS: u64 = 50;
const SECONDS: u64 = 300;
const CHAT: &str = "/v1/chat/completions";
/// Bars: most memory in MiB, and the 99th percentile of the delay in milliseconds.
const MAX_MIB: f64 = 350.0;
/// What traces of all answers may keep, in MiB (docs/inspector.md).
const TRACES_MIB: f64 = 64.0;
const MAX_DELAY_MS: f64 = 20.0;

/// A connection that has had an answer.
fn idle(address: SocketAddr) -> TcpStream {
    let mut socket = TcpStream::connect(address).expect("the server listens");
    socket.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").expect("it reads");
    let mut answer = [0; 1024];
    let count = socket.read(&mut answer).expect("it answers");
    assert!(answer[..count].starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer[..count]));
    socket.set_nonblocking(true).expect("a TCP socket");
    socket
}

fn is_open(mut socket: &TcpStream) -> bool {
    socket.read(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

fn verdict(is_met: bool) -> &'static str {
    if is_met { "met" } else { "MISSED" }
}

/// Reads the trace of the newest answer to its end, in a thread; returns the number of its lines.
fn read_trace(admin: SocketAddr) -> JoinHandle<usize> {
    let get = move |path: &str| {
        let mut socket = TcpStream::connect(admin).expect("it listens");
        write!(socket, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            .expect("it reads");
        let mut answer = String::new();
        socket.read_to_string(&mut answer).expect("text that isn't cut off");
        answer
    };
    std::thread::spawn(move || {
        let list = get("/admin/answers");
        let (_, id) = list.split_once("\"id\":\"").expect("an answer runs");
        let id = id.split('"').next().expect("the id's end");
        get(&format!("/admin/answers/{id}/tap")).matches("data: {").count()
    })
}

/// Runs the crowd against a server of its own; with `is_traced`, the trace of one answer is read.
fn run(seconds: u64, is_traced: bool) {
    let tokens = usize::try_from(seconds * 1000 / PACE_MS).expect("few tokens");
    let text = "<think>\n\n</think>\n\n".to_owned() + &"a ".repeat(tokens);
    let admin = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port");
    let (listens, admin_address) = (["--header-seconds", "600", "--store", "none"], admin.to_string());
    let inspects = ["--inspect", "--admin-listen", &admin_address];
    let arguments = [&listens[..], if is_traced { &inspects } else { &[] }].concat();
    let server = ServerProcess::start(&json!([{ "text": text, "pace_ms": PACE_MS }]), &arguments);
    let idle: Vec<TcpStream> = (0..IDLE).map(|_| idle(server.address)).collect();
    println!("{IDLE} idle connections: {:.0} MiB", server.resident_mib());
    let load = Load { name: "crowd", streams: STREAMS, tokens, pace_ms: PACE_MS };
    let mut clients = Clients::start(server.address, load, CHAT);
    clients.mark();
    println!("and {STREAMS} streams: {:.0} MiB", server.resident_mib());
    let trace = is_traced.then(|| read_trace(admin));
    let (began, before) = (std::time::Instant::now(), server.cpu_time());
    clients.mark();
    let (took, after) = (began.elapsed(), server.cpu_time());
    let (peak, open) = (server.peak_mib(), idle.iter().filter(|socket| is_open(socket)).count());
    if let Some(trace) = trace {
        println!("lines of one answer's trace: {}", trace.join().expect("it was read"));
    }
    let delays = clients.delays();
    #[expect(clippy::cast_precision_loss, reason = "few tokens")]
    let all = (tokens - 1) as f64 * f64::from(STREAMS);
    println!("tokens {} of {all}: {}", delays.words, verdict(delays.words.total_cmp(&all).is_eq()));
    println!("idle connections that are still open: {open}: {}", verdict(open == IDLE));
    let bar = if is_traced { MAX_MIB + TRACES_MIB } else { MAX_MIB };
    println!("memory at most {peak:.0} MiB, bar {bar}: {}", verdict(peak <= bar));
    let cpu = (after.user + after.system).saturating_sub(before.user + before.system);
    println!("the server's share of a core: {:.2}", cpu.as_secs_f64() / took.as_secs_f64());
    println!(
        "delay p50 {:.1} ms, p99 {:.1} ms, bar {MAX_DELAY_MS}: {}",
        delays.p50,
        delays.p99,
        verdict(delays.p99 <= MAX_DELAY_MS)
    );
}

fn main() {
    if load::run_clients_if_asked() {
        return;
    }
    let seconds = std::env::var("SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(SECONDS);
    for is_traced in [false, true] {
        println!("\nwith {} trace open", if is_traced { "one" } else { "no" });
        run(seconds / 2, is_traced);
    }
}

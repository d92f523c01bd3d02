//! Benchmark of a crowd: 1,000 streams for five minutes beside 10,000 idle connections. The server's
//! memory, the delay of a token from the engine's tick to the client, and the number of tokens,
//! of which none may be lost. Engine, server and the streams'
//! clients are processes of their own.
//!
//! `cargo bench --profile dist -p tests --bench crowd`; `SECONDS` sets another time. The server is
//! the binary that `SLUICE_HOST` names, else the one beside the benchmark.
#![expect(clippy::print_stdout, reason = "its result is what it prints")]

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use tests::load::{self, Clients, Load};
use tests::paced_engine::{self, PacedEngine};
use tests::process::ServerProcess;

const STREAMS: u32 = 1000;
const IDLE: usize = 10_000;
/// Milliseconds between tokens: ten tokens a second.
const PACE_MS: u64 = 100;
const SECONDS: u64 = 300;
const CHAT: &str = "/v1/chat/completions";
/// Bars: most memory in MiB, and the 99th percentile of the delay in milliseconds.
const MAX_MIB: f64 = 350.0;
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

fn main() {
    if load::run_clients_if_asked() || paced_engine::run_if_asked() {
        return;
    }
    let seconds = std::env::var("SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(SECONDS);
    let tokens = usize::try_from(seconds * 1000 / PACE_MS).expect("few tokens");
    let engine = PacedEngine::start(tokens, PACE_MS);
    let server =
        ServerProcess::start_with_engine(&format!("http://{}", engine.address), &["--header-seconds", "600"]);
    let idle: Vec<TcpStream> = (0..IDLE).map(|_| idle(server.address)).collect();
    println!("{IDLE} idle connections: {:.0} MiB", server.resident_mib());
    let load = Load { name: "crowd", streams: STREAMS, tokens, pace_ms: PACE_MS };
    let mut clients = Clients::start(server.address, load, CHAT);
    clients.mark();
    println!("and {STREAMS} streams: {:.0} MiB", server.resident_mib());
    clients.mark();
    let (peak, open) = (server.peak_mib(), idle.iter().filter(|socket| is_open(socket)).count());
    let delays = clients.delays();
    #[expect(clippy::cast_precision_loss, reason = "few tokens")]
    let all = (tokens - 1) as f64 * f64::from(STREAMS);
    println!("tokens {} of {all}: {}", delays.words, verdict(delays.words.total_cmp(&all).is_eq()));
    println!("idle connections that are still open: {open}: {}", verdict(open == IDLE));
    println!("memory at most {peak:.0} MiB, bar {MAX_MIB}: {}", verdict(peak <= MAX_MIB));
    println!(
        "delay p50 {:.1} ms, p99 {:.1} ms, bar {MAX_DELAY_MS}: {}",
        delays.p50,
        delays.p99,
        verdict(delays.p99 <= MAX_DELAY_MS)
    );
}

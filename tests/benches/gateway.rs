//! Benchmark of the server in front of a remote engine: microseconds of its CPU for each token, the
//! sockets of both sides included, and the delay that it adds to a token. The engine is a fake that
//! writes a token to every stream at each tick; engine, server and clients are processes of their
//! own. For comparison, the same streams come from the replay engine, and from the same fake behind
//! another gateway, if `LITELLM` names that program (tests/remote/README.md).
//!
//! `cargo bench-dist -p tests --bench gateway`; the server is the binary that
//! `SLUICE_HOST` names, else the one beside the benchmark.
#![expect(clippy::print_stdout, reason = "its result is what it prints")]

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;
use tests::load::{self, Clients, Cost, Delays, Load};
use tests::paced_engine::{self, PacedEngine, Process};
use tests::process::{CpuTime, ServerProcess};

/// Milliseconds between tokens: twenty tokens a second.
const PACE_MS: u64 = 50;
/// Bar for a token's cost in microseconds of CPU, with the largest number of streams.
const BAR: f64 = 20.0;
const TOKENS: usize = 200;
const STREAMS: [u32; 3] = [1, 100, 1000];
/// Maximum number of streams for the other gateway, which can't carry more.
const MOST_OF_ANOTHER: u32 = 100;
const CHAT: &str = "/v1/chat/completions";

/// Runs streams against the server at `address`; returns the cost from the readings of `cpu`, and
/// the delays.
fn measure(address: SocketAddr, streams: u32, cpu: impl Fn() -> Option<CpuTime>) -> (Option<Cost>, Delays) {
    let load = Load { name: "gateway", streams, tokens: TOKENS, pace_ms: PACE_MS };
    let mut clients = Clients::start(address, load, CHAT);
    let begun = clients.mark();
    let before = cpu();
    let events = clients.mark() - begun;
    let after = cpu();
    let cost = before.zip(after).map(|(before, after)| Cost::new(before, after, events));
    (cost, clients.delays())
}

fn print_figures(what: &str, streams: u32, (cost, delays): (Option<Cost>, Delays), direct: Option<Delays>) {
    let cost = cost.map_or(format!("{:24}", ""), |cost| {
        format!("{:8.1}{:8.1}{:8.1}", cost.user, cost.system, cost.sum())
    });
    let added = direct.map_or(String::new(), |direct| {
        format!("{:10.2}{:10.2}", delays.p50 - direct.p50, delays.p99 - direct.p99)
    });
    println!("{what:28}{streams:8}{cost}{:10.2}{:10.2}{added}", delays.p50, delays.p99);
}

/// Starts the other gateway in front of the engine; returns its process and its address.
fn start_litellm(engine: SocketAddr, folder: &std::path::Path) -> Option<(Process, SocketAddr)> {
    let program = std::env::var_os("LITELLM")?;
    let config = folder.join("litellm.yaml");
    let yaml = format!(
        "model_list:\n  - model_name: bench\n    litellm_params:\n      model: openai/bench\n      api_base: http://{engine}/v1\n      api_key: none\n"
    );
    std::fs::write(&config, yaml).expect("a temporary folder can be written");
    let address = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port");
    let child = Command::new(program)
        .arg("--config")
        .arg(&config)
        .args(["--host", "127.0.0.1", "--port", &address.port().to_string(), "--telemetry", "False"])
        // It would require a key otherwise; it serves only this machine.
        .env("LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY", "true")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("LITELLM names a program");
    let process = Process(child);
    let began = std::time::Instant::now();
    while TcpStream::connect(address).is_err() {
        assert!(began.elapsed() < Duration::from_mins(3), "the other gateway doesn't listen");
        std::thread::sleep(Duration::from_millis(200));
    }
    Some((process, address))
}

fn main() {
    if load::run_clients_if_asked() {
        return;
    }
    if paced_engine::run_if_asked() {
        return;
    }
    let engine_process = PacedEngine::start(TOKENS, PACE_MS);
    let engine = engine_process.address;
    let folder = tempfile::tempdir().expect("a temporary folder");
    println!(
        "{:28}{:>8}{:>8}{:>8}{:>8}{:>10}{:>10}{:>10}{:>10}   µs of CPU per token; ms behind the engine's tick, and added",
        "", "streams", "user", "system", "sum", "p50", "p99", "p50 +", "p99 +"
    );
    let mut most = None;
    for streams in STREAMS {
        let direct = measure(engine, streams, || None);
        print_figures("the engine alone", streams, direct, None);
        let server = ServerProcess::start_with_engine(&format!("http://{engine}"), &[]);
        let measured = measure(server.address, streams, || Some(server.cpu_time()));
        print_figures("sluice before the engine", streams, measured, Some(direct.1));
        most = measured.0;
        let text = "<think>\n\n</think>\n\n".to_owned() + &"a ".repeat(TOKENS);
        let replay = ServerProcess::start(&json!([{ "text": text, "pace_ms": PACE_MS }]), &[]);
        let (cost, _) = measure(replay.address, streams, || Some(replay.cpu_time()));
        let Cost { user, system } = cost.expect("it was measured");
        println!("{:28}{streams:8}{user:8.1}{system:8.1}{:8.1}", "sluice, replay engine", user + system);
    }
    if let Some((process, address)) = start_litellm(engine, folder.path()) {
        for streams in STREAMS.into_iter().filter(|streams| *streams <= MOST_OF_ANOTHER) {
            let direct = measure(engine, streams, || None);
            let measured = measure(address, streams, || Some(CpuTime::of(process.0.id())));
            print_figures("litellm before the engine", streams, measured, Some(direct.1));
        }
    }
    let sum = most.expect("it was measured").sum();
    println!(
        "bar {BAR} µs of CPU per token at {} streams: {}",
        STREAMS[2],
        if sum <= BAR { "met" } else { "MISSED" }
    );
}

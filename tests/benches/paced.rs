//! Benchmark of a stream's token in the whole server, sockets included: the CPU time of its process
//! per token, for many streams at the pace of a model, and for a few at full speed. The clients are
//! a process of their own.
//!
//! For comparison, the cost of a write to a socket from a thread that does nothing else is measured
//! alternately with the server: this part of a token's cost is the kernel's, for both ends of a
//! connection over the loopback interface.
//!
//! `cargo bench-dist -p tests --bench paced`; the server is the binary that `SLUICE_HOST`
//! names, else the one beside the benchmark.
#![expect(clippy::print_stdout, reason = "its result is what it prints")]

use std::io::Write;
use std::net::TcpListener;
use std::time::Duration;

use api::Protocol;
use serde_json::json;
use tests::load::{self, Clients, Cost, Load};
use tests::measure::thread_cpu;
use tests::process::ServerProcess;

/// Milliseconds between tokens: twenty tokens a second.
const PACE_MS: u64 = 50;
/// Bar for the cost of a paced stream's token, in microseconds of CPU.
const BAR: f64 = 12.0;
const RUNS: usize = 3;
/// Approximate size in bytes of an event with its chunk's frame.
const EVENT: usize = 256;
/// Number of writes to each socket.
const BARE_WRITES: u32 = 60;

const LOADS: [Load; 2] = [
    Load { name: "paced", streams: 1000, tokens: 200, pace_ms: PACE_MS },
    Load { name: "unpaced", streams: 50, tokens: 3600, pace_ms: 0 },
];

fn path(protocol: Protocol) -> &'static str {
    if protocol == Protocol::Chat { "/v1/chat/completions" } else { "/v1/responses" }
}

/// Server's cost of an event, from when all streams have begun to when all have ended. There is one
/// event for each token, apart from the few that open and close an answer.
fn per_token(load: Load, protocol: Protocol) -> Cost {
    let text = "<think>\n\n</think>\n\n".to_owned() + &"a ".repeat(load.tokens);
    let server =
        ServerProcess::start(&json!([{ "text": text, "pace_ms": load.pace_ms }]), &["--store", "none"]);
    // Streams at full speed are half over when all have begun, so their beginning counts as well.
    let (mut cpu, mut before) = (server.cpu_time(), 0);
    let mut clients = Clients::start(server.address, load, path(protocol));
    let begun = clients.mark();
    if load.pace_ms > 0 {
        (cpu, before) = (server.cpu_time(), begun);
    }
    let events = clients.mark() - before;
    Cost::new(cpu, server.cpu_time(), events)
}

/// Microseconds of CPU for a write to one of as many sockets at the same pace, from a thread that
/// does nothing else.
fn bare_write(load: Load) -> f64 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let clients = Clients::start(listener.local_addr().expect("it is bound"), load, path(Protocol::Chat));
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
    // The clients' process is killed first: it would take the reset of a socket whose request
    // wasn't read for a fault.
    drop(clients);
    cpu.as_secs_f64() * 1e6 / f64::from(BARE_WRITES * load.streams)
}

/// Median costs of a token, and of a bare write if the load is paced.
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

fn main() {
    if load::run_clients_if_asked() {
        return;
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

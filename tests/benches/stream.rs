//! Benchmark of a token's whole path from the engine's step to the socket, in CPU time of one
//! thread (µs per token, without socket writes), and of the memory of a live stream (KiB). `parser`
//! measures the sandbox alone.
//!
//! `cargo bench-dist -p tests --bench stream [-- PROTOCOL…]`
#![expect(clippy::print_stdout, reason = "its result is what it prints")]

use api::event_buffer::EventBuffer;
use api::{ApiRequest, Defaults, Protocol};
use tests::measure::{median_cpu, resident_kib};
use tests::path::{Shape, answer, replay_model};
use turn::TurnEvents;

/// Numbers of tokens of an answer.
const LENGTHS: [usize; 3] = [1 << 10, 1 << 14, 1 << 16];
/// Cost of the same path (parse, events, JSON) in vLLM 0.33's Python server, from a separate
/// measurement: it isn't run here.
const VLLM: &str = "vLLM 0.33, measured apart: 16 to 33; for a custom tool's 16k-token input 38 s in all";

fn path_figures(runtime: &tokio::runtime::Runtime, asked: &[String]) {
    let is_asked =
        |protocol: Protocol| asked.is_empty() || asked.iter().any(|name| *name == format!("{protocol:?}"));
    println!(
        "\nwhole path, engine step to SSE bytes (detokenizer, markers, parser, turn, events, JSON): µs of CPU per token"
    );
    println!("{:12} {:12}{:>9}{:>9}{:>9}", "item", "protocol", "1k", "16k", "64k");
    for shape in Shape::ALL {
        for protocol in Protocol::ALL.into_iter().filter(|protocol| is_asked(*protocol)) {
            if shape == Shape::Summary && protocol != Protocol::Responses {
                continue; // only Responses has summaries
            }
            print!("{:12} {:12}", format!("{shape:?}"), format!("{protocol:?}"));
            for length in LENGTHS {
                print!("{:9.2}", per_token(runtime, shape, protocol, length));
            }
            println!();
        }
    }
    println!("{VLLM}");
}

/// Microseconds of CPU per token.
fn per_token(runtime: &tokio::runtime::Runtime, shape: Shape, protocol: Protocol, length: usize) -> f64 {
    let (model, _folder) = replay_model(&shape.output(length));
    let body = shape.request(protocol);
    let once =
        || runtime.block_on(answer(&model, protocol, &body, |write| drop(std::hint::black_box(write))));
    let tokens = once();
    let time = median_cpu(7, || {
        once();
    });
    time.as_secs_f64() * 1e6 / f64::from(tokens)
}

fn live_figures(runtime: &tokio::runtime::Runtime) {
    const STREAMS: u64 = 1000;
    let (model, _folder) = replay_model(&"<think>\nSome words of reasoning that take a while. ".repeat(50));
    let body = Shape::Text.request(Protocol::Responses);
    let held = runtime.block_on(async {
        let before = resident_kib();
        let mut live = Vec::new();
        for _ in 0..STREAMS {
            let ApiRequest { job, mut machine, .. } =
                Protocol::Responses.read(&body, &Defaults::default()).expect("a request");
            let mut turn = model.start(job).await.expect("a turn");
            let (mut buffer, mut events) = (EventBuffer::new(), TurnEvents::default());
            for _ in 0..20 {
                assert!(turn.next(&mut events).await.is_none());
                for event in events.iter() {
                    machine.turn(event, &mut buffer);
                }
                events.clear();
                buffer.clear();
            }
            live.push((turn, machine, buffer));
        }
        resident_kib().saturating_sub(before)
    });
    println!(
        "\nlive streams (turn, parser instance, event machine): {} KiB each, {STREAMS} of them",
        held / STREAMS
    );
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let asked: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    path_figures(&runtime, &asked);
    live_figures(&runtime);
}

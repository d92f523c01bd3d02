//! Benchmark of parsers in their sandbox, with all limits on, in CPU time of one thread: the size
//! and the start of each component, and then each delta, including markers, ops and conservation,
//! by format, shape and length; also with 1,000 and 10,000 live streams. Times are the least of
//! three runs.
//!
//! `cargo bench-dist -p tests --bench parser [-- FORMAT…]`; `PLUGINS=FOLDER` sets another
//! folder of components, as of another build.
#![expect(clippy::print_stdout, reason = "its result is what it prints")]
#![expect(clippy::cast_precision_loss, reason = "figures for people")]

use std::path::PathBuf;
use std::time::Duration;

use contract::FinishReason;
use parsers::ParserLimits;
use parsers::{Runtime, Traps, plugins_in};
use tests::formats::{FORMATS, Shape, WORD};
use tests::measure::{median, resident_kib, thread_cpu};
use tests::sandbox::{SHIPPED, Sandbox, TABLE_READER, source};
use turn::{TokenText, Turn, TurnEvents};

const LENGTHS: [usize; 5] = [256, 1024, 4096, 16_384, 65_536];
/// Number of deltas measured for each figure, in streams of its length, and the minimum number of
/// streams.
const DELTAS: usize = 131_072;
const STREAMS: usize = 7;
/// Number of runs, whose least time counts.
const RUNS: usize = 3;
/// Number of instances alive at once for the memory of each.
const INSTANCES: usize = 256;

/// CPU time of a stream's deltas after its warm-up.
fn stream(mut turn: Turn, warm_up: &[TokenText<'_>], pieces: &[TokenText<'_>]) -> Duration {
    let mut events = TurnEvents::default();
    feed(&mut turn, warm_up, &mut events);
    let began = thread_cpu();
    feed(&mut turn, pieces, &mut events);
    let time = thread_cpu().saturating_sub(began);
    let _ = turn.finish(FinishReason::Stop, None, &mut events);
    assert!(turn.fault().is_none(), "the parser is healthy: {:?}", turn.fault());
    time
}

/// CPU time of a server's first start of the parser, without a cache: its load, which compiles it,
/// and the start of its first stream.
fn first_start(sandbox: &Sandbox) -> Duration {
    let runtime = Runtime::new(&ParserLimits::default()).expect("a sandbox");
    let began = thread_cpu();
    let plugin = runtime.load(&sandbox.source, &[]).expect("a parser");
    let parser = plugin.start(&sandbox.request);
    let time = thread_cpu().saturating_sub(began);
    drop(parser.expect("an instance"));
    time
}

/// CPU time of a stream's start.
fn start(sandbox: &Sandbox) -> Duration {
    let began = thread_cpu();
    let turn = sandbox.turn();
    let time = thread_cpu().saturating_sub(began);
    drop(turn);
    time
}

/// KiB of linear memory of an instance that has started. `metered` instances count it.
fn linear_kib(sandbox: &Sandbox, metered: &Runtime) -> usize {
    let plugin = metered.load(&sandbox.source, &[]).expect("a parser");
    let parser = plugin.start(&sandbox.request).expect("an instance");
    parser.usage().expect("it is metered").memory >> 10
}

/// KiB of resident memory of an instance that has started.
fn instance_kib(sandbox: &Sandbox) -> f64 {
    let before = resident_kib();
    let turns: Vec<Turn> = std::iter::repeat_with(|| sandbox.turn()).take(INSTANCES).collect();
    resident_kib().saturating_sub(before) as f64 / turns.len() as f64
}

/// Nanoseconds per delta of a stream of this shape.
fn per_delta(sandbox: &Sandbox, shape: Shape, length: usize) -> f64 {
    let (warm_up, deltas) = (sandbox.format.warm_up(), sandbox.format.deltas(shape, length));
    sandbox.check(&[&warm_up[..], &deltas[..]].concat());
    let (warm_up, pieces) = (sandbox.pieces(&warm_up), sandbox.pieces(&deltas));
    let streams = (DELTAS / length).max(STREAMS);
    let time = least(|| median(streams, || stream(sandbox.turn(), &warm_up, &pieces)));
    time.as_nanos() as f64 / pieces.len() as f64
}

/// Nanoseconds per delta of a stream of small calls whose parser costs nothing: what its turn
/// costs.
fn turn_alone(sandbox: &Sandbox, length: usize) -> f64 {
    let warm_up = sandbox.pieces(&sandbox.format.warm_up());
    let pieces = sandbox.pieces(&sandbox.format.deltas(Shape::ManyCalls, length));
    let answers = sandbox.answers(&[&warm_up[..], &pieces[..]].concat());
    let time = least(|| median(STREAMS, || stream(sandbox.replayed(answers.clone()), &warm_up, &pieces)));
    time.as_nanos() as f64 / pieces.len() as f64
}

/// Fuel per delta of a stream of small calls.
fn fuel(sandbox: &Sandbox, metered: &Runtime, length: usize) -> f64 {
    let warm_up = sandbox.format.warm_up();
    let deltas = sandbox.format.deltas(Shape::ManyCalls, length);
    let all = sandbox.fuel(metered, &sandbox.pieces(&[&warm_up[..], &deltas[..]].concat()));
    let begun = sandbox.fuel(metered, &sandbox.pieces(&warm_up));
    (all - begun) as f64 / deltas.len() as f64
}

fn feed(turn: &mut Turn, pieces: &[TokenText<'_>], events: &mut TurnEvents) {
    for piece in pieces {
        let _ = turn.step(std::slice::from_ref(piece), events);
        events.clear();
    }
}

/// Returns the least of what `run` measures.
fn least(run: impl FnMut() -> Duration) -> Duration {
    std::iter::repeat_with(run).take(RUNS).min().expect("runs")
}

/// Prints a row for each format: the component's size, its first start and that of a later stream,
/// the memory of an instance, the cost of a delta in streams of 4k deltas, what of the small calls'
/// is the turn's own, how often the parser is asked in one, and its fuel per delta of theirs, which no noise
/// touches.
fn component_figures(sandboxes: &[Sandbox]) {
    let metered = Runtime::pooled(&ParserLimits::default(), Traps::Signals, true, false).expect("a sandbox");
    print!("{:14}", "");
    for name in [
        "bytes",
        "first ms",
        "start µs",
        "linear KiB",
        "resident",
        "prose ns",
        "a call",
        "calls",
        "turn alone",
        "asked",
        "fuel calls",
    ] {
        print!("{name:>11}");
    }
    println!();
    for sandbox in sandboxes {
        let first = least(|| first_start(sandbox)).as_secs_f64() * 1e3;
        let start = least(|| median(201, || start(sandbox))).as_secs_f64() * 1e6;
        let (linear, resident) = (linear_kib(sandbox, &metered), instance_kib(sandbox));
        print!("{:14}{:11}", sandbox.format.name, sandbox.plugin.size());
        print!("{first:11.1}{start:11.1}{linear:11}{resident:11.0}");
        for shape in Shape::ALL {
            print!("{:11.1}", per_delta(sandbox, shape, LENGTHS[2]));
        }
        print!("{:11.1}{:11}", turn_alone(sandbox, LENGTHS[2]), sandbox.asked());
        println!("{:11.1}", fuel(sandbox, &metered, LENGTHS[2]));
    }
}

fn delta_figures(sandbox: &Sandbox) {
    for shape in Shape::ALL {
        print!("{:14}{:28}", sandbox.format.name, shape.name());
        let figures = LENGTHS.map(|length| per_delta(sandbox, shape, length));
        for figure in figures {
            print!("{figure:9.1}");
        }
        println!("{:9.2}", figures[figures.len() - 1] / figures[0]);
    }
}

/// Measures many streams round-robin, each in the argument of a call, so that no stream stays in
/// the processor's caches.
fn round_robin(sandbox: &Sandbox, streams: usize) {
    const ROUNDS: usize = 9;
    let (opening, word) = (sandbox.pieces(sandbox.format.opening()), sandbox.pieces(&[WORD]));
    let mut events = TurnEvents::default();
    let before = resident_kib();
    let mut turns: Vec<Turn> = (0..streams)
        .map(|_| {
            let mut turn = sandbox.turn();
            feed(&mut turn, &opening, &mut events);
            turn
        })
        .collect();
    let held = resident_kib().saturating_sub(before) as f64 / streams as f64;
    let time = median(ROUNDS, || {
        let began = thread_cpu();
        for turn in &mut turns {
            feed(turn, &word, &mut events);
        }
        thread_cpu().saturating_sub(began)
    });
    let per_delta = time.as_secs_f64() * 1e6 / streams as f64;
    println!(
        "{:14}{streams:6} streams in turn {per_delta:6.2} µs per delta {held:6.0} KiB each",
        sandbox.format.name
    );
}

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let runtime = Runtime::new(&ParserLimits::default()).expect("a sandbox");
    let plugins = std::env::var_os("PLUGINS").map_or(SHIPPED.into(), PathBuf::from);
    let sandboxes: Vec<Sandbox> = FORMATS
        .iter()
        .filter(|format| asked.is_empty() || asked.iter().any(|name| name == format.name))
        .map(|format| Sandbox::new(&runtime, format, source(format.name, &plugins)))
        .collect();
    if asked.is_empty() {
        for file in plugins_in(&plugins).expect("a folder of plugins") {
            let name = file.file_stem().unwrap_or_default();
            let measured = name == TABLE_READER || FORMATS.iter().any(|format| name == format.name);
            assert!(measured, "{}: a format without streams in formats.rs", file.display());
        }
    }
    println!("\nparsers in their sandbox, all limits on, CPU time of one thread, the least of {RUNS} runs\n");
    component_figures(&sandboxes);
    print!("\n{:42}", "ns per delta, started and warm");
    for length in LENGTHS {
        print!("{length:>9}");
    }
    println!("{:>9}", "64k/256");
    sandboxes.iter().for_each(delta_figures);
    println!();
    for streams in [1000, 10_000] {
        for sandbox in &sandboxes {
            round_robin(sandbox, streams);
        }
    }
}

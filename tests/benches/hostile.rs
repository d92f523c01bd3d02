//! Benchmark of what a hostile guest costs other streams: time from a looping guest's call until it
//! is killed, the slowest delta of a hundred neighbours meanwhile, and resident memory over ten
//! thousand instances.
//!
//! `cargo bench-dist -p tests --bench hostile`
#![expect(clippy::print_stdout, reason = "its result is what it prints")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parsers::ParserLimits;
use parsers::{Plugin, Runtime};
use tests::measure::{resident_kib, thread_cpu};
use tests::streams::{SHIPPED, Stream, load, load_guest};

const KILLS: usize = 100;
const NEIGHBOURS: usize = 100;
/// Bar for the CPU time that a guest takes beyond its budget.
const BAR: Duration = Duration::from_millis(20);
/// Bar for the growth of resident memory, in KiB, from the first thousand instances to ten
/// thousand.
const FLAT_KIB: u64 = 1024;

/// CPU and wall time of a call that never returns by itself, each beyond the budget.
fn kill(plugin: &Plugin, budget: Duration) -> (Duration, Duration) {
    let mut stream = Stream::start(plugin).expect("it starts");
    let (cpu, wall) = (thread_cpu(), Instant::now());
    let _ = stream.feed("x");
    let times = (thread_cpu().saturating_sub(cpu), wall.elapsed());
    assert!(stream.is_faulted(), "the guest is killed");
    (times.0.saturating_sub(budget), times.1.saturating_sub(budget))
}

fn print_times(what: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1e3;
    println!("{what:48}median {:8.4} ms   p99 {:8.4} ms   most {:8.4} ms", at(50), at(99), at(100));
}

/// Feeds deltas to the neighbours, one after another, until `stop` is set; returns CPU and wall
/// time of each delta.
fn neighbours(plugin: &Plugin, stop: &AtomicBool) -> (Vec<Duration>, Vec<Duration>) {
    let mut streams: Vec<_> = (0..NEIGHBOURS).map(|_| Stream::start(plugin).expect("it starts")).collect();
    for stream in &mut streams {
        let _ = stream.feed("<think>Hm.</think><tool_call>{\"name\": \"add\", \"arguments\": {\"a\": \"");
    }
    let (mut cpus, mut walls) = (Vec::new(), Vec::new());
    while !stop.load(Ordering::Relaxed) {
        for stream in &mut streams {
            let (cpu, wall) = (thread_cpu(), Instant::now());
            let _ = stream.feed("word");
            walls.push(wall.elapsed());
            cpus.push(thread_cpu().saturating_sub(cpu));
        }
        // Deltas come no faster than models write, and the looping thread gets its core.
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(streams.iter().all(|stream| !stream.is_faulted()), "no neighbour fails");
    (cpus, walls)
}

fn kills(runtime: &Runtime, budget: Duration) {
    let looping = load_guest(runtime, "loop_in_text").expect("it loads");
    let healthy = load(runtime, "qwen3", SHIPPED).expect("the shipped parser loads");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let beside = scope.spawn(|| neighbours(&healthy, &stop));
        let (cpus, walls): (Vec<_>, Vec<_>) = (0..KILLS).map(|_| kill(&looping, budget)).unzip();
        stop.store(true, Ordering::Relaxed);
        let slowest = *cpus.iter().max().expect("some kills");
        print_times("looping guest, CPU beyond its 5 ms", cpus);
        print_times("looping guest, wall time beyond its 5 ms", walls);
        let (cpus, walls) = beside.join().expect("the neighbours live");
        print_times("delta of 100 neighbours meanwhile, CPU", cpus);
        print_times("delta of 100 neighbours meanwhile, wall time", walls);
        let verdict = if slowest <= BAR { "met" } else { "MISSED" };
        println!("bar: killed within {} ms of CPU beyond the budget: {verdict}", BAR.as_millis());
    });
}

fn memory(runtime: &Runtime, name: &str) {
    let plugin = load_guest(runtime, name).expect("it loads");
    print!("{name:14}resident after");
    let (mut done, mut sizes) = (0, Vec::new());
    for count in [1, 1000, 2000, 5000, 10_000] {
        for _ in done..count {
            let mut stream = Stream::start(&plugin).expect("it starts");
            let _ = stream.feed("hello");
            drop(stream.finish());
        }
        done = count;
        sizes.push(resident_kib());
        print!("   {count} {} KiB", sizes[sizes.len() - 1]);
    }
    let grown = sizes[sizes.len() - 1].saturating_sub(sizes[1]);
    println!("   grown {grown} KiB: {}", if grown <= FLAT_KIB { "met" } else { "MISSED" });
}

fn main() {
    let limits = ParserLimits::default();
    let runtime = Runtime::new(&limits).expect("a sandbox");
    kills(&runtime, limits.call_time);
    for name in ["healthy", "trap_in_text", "memory_bomb"] {
        memory(&runtime, name);
    }
}

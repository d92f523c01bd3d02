//! Thousands of parser instances, one after another, and hundreds of builds: memory stays at the
//! level reached after the first of them, even if each instance traps. `SLUICE_INSTANCES` sets the
//! number of instances (`tests/nightly.sh` runs ten thousand).

use parsers::ParserLimits;
use parsers::{Plugin, Runtime};
use tests::measure::{resident_kib, runs_alone};
use tests::streams::{Stream, load_guest};

/// Allowed growth of resident memory while they run, in KiB. One leaked page for each of 2,000
/// instances would be 8,000.
const GROWTH: u64 = 4096;
/// Number of builds that are loaded and dropped. Each build that is leaked would be tens of KiB.
const BUILDS: usize = 400;
/// Number of instances before the first measurement.
const WARM: usize = 500;

fn instances() -> usize {
    std::env::var("SLUICE_INSTANCES")
        .map_or(2000, |count| count.parse().expect("SLUICE_INSTANCES is a number"))
}

/// Runs streams of this plugin one after another, and returns how many of them failed.
fn run(plugin: &Plugin, streams: usize) -> usize {
    let stream = || {
        let mut stream = Stream::start(plugin).expect("it starts");
        let _ = stream.feed("hello");
        stream.finish().2
    };
    (0..streams).filter(|_| stream()).count()
}

/// Loads plugins, each of which is used once and dropped.
fn load_and_drop(runtime: &Runtime, builds: usize) {
    for build in 0..builds {
        let name = ["healthy", "to_reasoning"][build % 2];
        let plugin = load_guest(runtime, name).expect("it loads");
        assert_eq!(run(&plugin, 1), 0, "{name}");
    }
}

#[test]
fn instances_and_builds_leave_nothing_behind() {
    if !runs_alone("flat_memory::instances_and_builds_leave_nothing_behind") {
        return;
    }
    let runtime = Runtime::new(&ParserLimits::default()).expect("a sandbox");
    let count = instances();
    for (name, faults) in [("healthy", 0), ("trap_in_text", WARM + count)] {
        let plugin = load_guest(&runtime, name).expect("it loads");
        let mut failed = run(&plugin, WARM);
        let before = resident_kib();
        failed += run(&plugin, count);
        let grown = resident_kib().saturating_sub(before);
        assert_eq!(failed, faults, "{name}");
        assert!(grown < GROWTH, "{name}: {grown} KiB more after {count} instances");
    }
    load_and_drop(&runtime, BUILDS / 4);
    let before = resident_kib();
    load_and_drop(&runtime, BUILDS);
    let grown = resident_kib().saturating_sub(before);
    assert!(grown < GROWTH, "{grown} KiB more after {BUILDS} builds");
}

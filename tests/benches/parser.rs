//! Benchmark of parsers in their sandbox, with all limits on, in CPU time of one thread: the size and the start of each component, and then
//! each delta, including markers, ops and conservation, by format, shape and length; also with 1,000 and 10,000 live streams. Times are the
//! least of three runs.
//!
//! `cargo bench --profile dist -p tests --bench parser [-- FORMAT…]`; `PLUGINS=FOLDER` sets another folder of components, as of another build.
#![expect(clippy::print_stdout, reason = "its result is what it prints")]
#![expect(clippy::cast_precision_loss, reason = "figures for people")]

#[path = "formats.rs"]
mod formats;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use contract::{FinishReason, Request, ToolKind};
use formats::{FORMATS, Format, Shape, WORD};
use host::limits::ParserLimits;
use host::parser::{Plugin, PluginSource, Runtime, TableSource, plugins_in};
use tests::measure::{median, resident_kib, thread_cpu};
use turn::{
    Binding, ItemHead, ItemStatus, TokenText, Turn, TurnEvent, TurnEvents, TurnSettings, counted_call_ids,
};

/// Folder of the shipped plugins.
const SHIPPED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../plugins");
/// Component that reads tables.
const TABLE_READER: &str = "response-template";
const LENGTHS: [usize; 5] = [256, 1024, 4096, 16_384, 65_536];
/// Number of deltas measured for each figure, in streams of its length, and the minimum number of streams.
const DELTAS: usize = 131_072;
const STREAMS: usize = 7;
/// Number of runs, whose least time counts.
const RUNS: usize = 3;
/// Number of instances alive at once for the memory of each.
const INSTANCES: usize = 256;

/// Loaded plugin of a format.
struct Sandbox {
    format: &'static Format,
    source: PluginSource,
    plugin: Arc<Plugin>,
    binding: Arc<Binding>,
    request: Request,
}

impl Sandbox {
    fn new(runtime: &Runtime, format: &'static Format, source: PluginSource) -> Self {
        let plugin = runtime.load(&source, &[]).expect("a shipped parser");
        let literals = &plugin.descriptor().markers;
        let binding =
            Binding::new(plugin.descriptor(), |text| token(format, literals, text)).expect("markers");
        let schema = r#"{"type": "object", "properties": {"x": {"type": "string"}}}"#;
        let tool = turn::values::tool("tool", ToolKind::Function, schema);
        let token_markers = binding.markers().tokens();
        let request = Request { tools: [tool].into(), token_markers, ..Request::default() };
        Self { format, source, plugin, binding, request }
    }

    fn pieces<'a>(&self, deltas: &[&'a str]) -> Vec<TokenText<'a>> {
        let literals = &self.plugin.descriptor().markers;
        let id = |text| Some(token(self.format, literals, text).unwrap_or(u32::MAX));
        deltas.iter().map(|text| TokenText::new(id(text), text)).collect()
    }

    fn turn(&self) -> Turn {
        let parser = self.plugin.start(&self.request).expect("an instance");
        let settings = TurnSettings::of(&self.request, counted_call_ids());
        Turn::new(&self.binding, parser, settings)
    }

    /// CPU time of a stream's deltas after its warm-up.
    fn stream(&self, warm_up: &[TokenText<'_>], pieces: &[TokenText<'_>]) -> Duration {
        let (mut turn, mut events) = (self.turn(), TurnEvents::default());
        feed(&mut turn, warm_up, &mut events);
        let began = thread_cpu();
        feed(&mut turn, pieces, &mut events);
        let time = thread_cpu().saturating_sub(began);
        let _ = turn.finish(FinishReason::Stop, None, &mut events);
        assert!(turn.fault().is_none(), "the parser is healthy: {:?}", turn.fault());
        time
    }

    /// Checks that the parser finds the intended number of calls in a stream, all of them complete.
    fn check(&self, deltas: &[&str]) {
        let (mut turn, mut events) = (self.turn(), TurnEvents::default());
        for piece in self.pieces(deltas) {
            let _ = turn.step(&[piece], &mut events);
        }
        let _ = turn.finish(FinishReason::Stop, None, &mut events);
        let calls = |event: &&TurnEvent| matches!(event, TurnEvent::Open(ItemHead::ToolCall { .. }));
        assert_eq!(events.iter().filter(calls).count(), self.format.calls(deltas), "{}", self.format.name);
        assert!(!events.contains(&TurnEvent::Close(ItemStatus::Incomplete)), "{}", self.format.name);
    }

    /// CPU time of a server's first start of the parser, without a cache: its load, which compiles it, and the start of its first stream.
    fn first_start(&self) -> Duration {
        let runtime = Runtime::new(&ParserLimits::default()).expect("a sandbox");
        let began = thread_cpu();
        let plugin = runtime.load(&self.source, &[]).expect("a parser");
        let parser = plugin.start(&self.request);
        let time = thread_cpu().saturating_sub(began);
        drop(parser.expect("an instance"));
        time
    }

    /// CPU time of a stream's start.
    fn start(&self) -> Duration {
        let began = thread_cpu();
        let turn = self.turn();
        let time = thread_cpu().saturating_sub(began);
        drop(turn);
        time
    }

    /// KiB of linear memory of an instance that has started. `metered` instances count it.
    fn linear_kib(&self, metered: &Runtime) -> usize {
        let plugin = metered.load(&self.source, &[]).expect("a parser");
        let parser = plugin.start(&self.request).expect("an instance");
        parser.usage().expect("it is metered").memory >> 10
    }

    /// KiB of resident memory of an instance that has started.
    fn resident_kib(&self) -> f64 {
        let before = resident_kib();
        let turns: Vec<Turn> = std::iter::repeat_with(|| self.turn()).take(INSTANCES).collect();
        resident_kib().saturating_sub(before) as f64 / turns.len() as f64
    }

    /// Nanoseconds per delta of a stream of this shape.
    fn per_delta(&self, shape: Shape, length: usize) -> f64 {
        let (warm_up, deltas) = (self.format.warm_up(), self.format.deltas(shape, length));
        self.check(&[&warm_up[..], &deltas[..]].concat());
        let (warm_up, pieces) = (self.pieces(&warm_up), self.pieces(&deltas));
        let streams = (DELTAS / length).max(STREAMS);
        let time = least(|| median(streams, || self.stream(&warm_up, &pieces)));
        time.as_nanos() as f64 / pieces.len() as f64
    }
}

/// Token id of a marker; `None` for other texts and for markers that aren't one token of the model's tokenizer.
fn token(format: &Format, literals: &[String], text: &str) -> Option<u32> {
    let at = literals.iter().position(|known| known == text && !format.spelt.contains(&text))?;
    u32::try_from(at).ok()
}

fn feed(turn: &mut Turn, pieces: &[TokenText<'_>], events: &mut TurnEvents) {
    for piece in pieces {
        let _ = turn.step(std::slice::from_ref(piece), events);
        events.clear();
    }
}

/// A component of the folder, or a shipped table that the folder's component reads.
fn source(name: &str, plugins: &Path) -> PluginSource {
    let component = |name: &str| PluginSource::File(plugins.join(name).with_extension("wasm"));
    let table = Path::new(SHIPPED).join("tables").join(name).with_extension("json");
    if table.exists() {
        TableSource::open(&table, component(TABLE_READER)).expect("a table")
    } else {
        component(name)
    }
}

/// Returns the least of what `run` measures.
fn least(run: impl FnMut() -> Duration) -> Duration {
    std::iter::repeat_with(run).take(RUNS).min().expect("runs")
}

/// Prints a row for each format: the component's size, its first start and that of a later stream, the memory of an instance, and the cost
/// of a delta in streams of 4k deltas.
fn component_figures(sandboxes: &[Sandbox]) {
    let metered = Runtime::pooled(&ParserLimits::default(), true, false).expect("a sandbox");
    print!("{:14}", "");
    for name in ["bytes", "first ms", "start µs", "linear KiB", "resident", "prose ns", "a call", "calls"] {
        print!("{name:>11}");
    }
    println!();
    for sandbox in sandboxes {
        let first = least(|| sandbox.first_start()).as_secs_f64() * 1e3;
        let start = least(|| median(201, || sandbox.start())).as_secs_f64() * 1e6;
        let (linear, resident) = (sandbox.linear_kib(&metered), sandbox.resident_kib());
        print!("{:14}{:11}", sandbox.format.name, sandbox.plugin.size());
        print!("{first:11.1}{start:11.1}{linear:11}{resident:11.0}");
        for shape in Shape::ALL {
            print!("{:11.1}", sandbox.per_delta(shape, LENGTHS[2]));
        }
        println!();
    }
}

fn delta_figures(sandbox: &Sandbox) {
    for shape in Shape::ALL {
        print!("{:14}{:28}", sandbox.format.name, shape.name());
        let figures = LENGTHS.map(|length| sandbox.per_delta(shape, length));
        for figure in figures {
            print!("{figure:9.1}");
        }
        println!("{:9.2}", figures[figures.len() - 1] / figures[0]);
    }
}

/// Measures many streams round-robin, each in the argument of a call, so that no stream stays in the processor's caches.
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

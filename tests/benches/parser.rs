//! Benchmark of parsers in their sandbox, with all limits on, in CPU time of one thread: the start, and then each delta, including
//! markers, ops and conservation, by format, shape and length; also with 1,000 and 10,000 live streams.
//!
//! `cargo bench --profile dist -p tests --bench parser [-- FORMAT…]`; `PLUGINS=FOLDER` sets another folder of plugins.
#![expect(clippy::print_stdout, reason = "its result is what it prints")]
#![expect(clippy::cast_precision_loss, reason = "figures for people")]

#[path = "formats.rs"]
mod formats;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use contract::{FinishReason, Request, ToolKind};
use formats::{FORMATS, Format, Shape, WORD};
use host::limits::ParserLimits;
use host::parser::{Plugin, PluginSource, Runtime};
use tests::measure::{median, resident_kib, thread_cpu};
use turn::{
    Binding, ItemHead, ItemStatus, TokenText, Turn, TurnEvent, TurnEvents, TurnSettings, counted_call_ids,
};

const LENGTHS: [usize; 5] = [256, 1024, 4096, 16_384, 65_536];
/// Number of deltas measured for each figure, in streams of its length, and the minimum number of streams.
const DELTAS: usize = 131_072;
const STREAMS: usize = 7;

/// Loaded plugin of a format.
struct Sandbox {
    format: &'static Format,
    plugin: Arc<Plugin>,
    binding: Arc<Binding>,
    request: Request,
}

impl Sandbox {
    fn new(runtime: &Runtime, format: &'static Format, file: PathBuf) -> Self {
        let plugin = runtime.load(&PluginSource::File(file), &[]).expect("a shipped parser");
        let literals = &plugin.descriptor().markers;
        let binding =
            Binding::new(plugin.descriptor(), |text| token(format, literals, text)).expect("markers");
        let schema = r#"{"type": "object", "properties": {"x": {"type": "string"}}}"#;
        let tool = turn::values::tool("tool", ToolKind::Function, schema);
        let request = Request { tools: [tool].into(), ..Request::default() };
        Self { format, plugin, binding, request }
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

fn start_figures(sandbox: &Sandbox) {
    let started = median(201, || {
        let began = thread_cpu();
        let turn = sandbox.turn();
        let time = thread_cpu().saturating_sub(began);
        drop(turn);
        time
    });
    println!("{:14}start {:5.1} µs", sandbox.format.name, started.as_secs_f64() * 1e6);
}

fn delta_figures(sandbox: &Sandbox) {
    let warm_up = sandbox.format.warm_up();
    for shape in Shape::ALL {
        print!("{:14}{:28}", sandbox.format.name, shape.name());
        let mut figures = Vec::new();
        for length in LENGTHS {
            let deltas = sandbox.format.deltas(shape, length);
            sandbox.check(&[&warm_up[..], &deltas[..]].concat());
            let (warm_up, pieces) = (sandbox.pieces(&warm_up), sandbox.pieces(&deltas));
            let streams = (DELTAS / length).max(STREAMS);
            let time = median(streams, || sandbox.stream(&warm_up, &pieces));
            figures.push(time.as_nanos() as f64 / pieces.len() as f64);
            print!("{:9.1}", figures[figures.len() - 1]);
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
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../plugins").into();
    let plugins = std::env::var_os("PLUGINS").map_or(shipped, PathBuf::from);
    let sandboxes: Vec<Sandbox> = FORMATS
        .iter()
        .filter(|format| asked.is_empty() || asked.iter().any(|name| name == format.name))
        .map(|format| (format, plugins.join(format.name).with_extension("wasm")))
        .map(|(format, file)| Sandbox::new(&runtime, format, file))
        .collect();
    println!("\nparsers in their sandbox, all limits on, CPU time of one thread (medians)\n");
    sandboxes.iter().for_each(start_figures);
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

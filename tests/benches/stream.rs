//! What a token costs on its way from the engine's step to the socket, in CPU time of one thread:
//! the parser in its sandbox (ns per delta, by shape and length), the whole path to SSE bytes (µs per token, socket writes
//! excluded), and what a live stream holds (KiB).
//!
//! `cargo bench --profile dist -p tests --bench stream`
#![expect(clippy::print_stdout, reason = "its result is what it prints")]

#[path = "cpu.rs"]
mod cpu;

use std::path::Path;
use std::sync::Arc;

use cpu::median_cpu;
use host::api::frames::Frames;
use host::api::{Call, Defaults, Protocol};
use host::limits::{Limits, ParserLimits};
use host::model::{EngineChoice, Model};
use host::parser::contract::{FinishReason, Request, Tool, ToolChoice, ToolKind};
use host::parser::{Plugin, PluginSource, Runtime};
use host::turn::{MarkerTable, Piece, Turn, TurnEvent, TurnSettings};
use serde_json::json;
use tests::server::Setup;

const LENGTHS: &[usize] = &[256, 1024, 4096, 16_384, 65_536];
const SHAPES: &[Shape] = &[Shape::Prose, Shape::OneCall, Shape::ManyCalls];
const WORD: &str = "abc ";

#[derive(Clone, Copy)]
enum Shape {
    Prose,
    OneCall,
    ManyCalls,
}

impl Shape {
    fn name(self) -> &'static str {
        match self {
            Self::Prose => "prose",
            Self::OneCall => "one call of half the stream",
            Self::ManyCalls => "many small calls",
        }
    }

    /// Deltas of about four bytes; markers are deltas of their own.
    fn deltas(self, count: usize) -> Vec<&'static str> {
        let mut deltas = Vec::with_capacity(count);
        match self {
            Self::Prose => deltas.resize(count, WORD),
            Self::OneCall => {
                deltas.resize(count / 2, WORD);
                call(&mut deltas, count / 2 - 12);
            }
            Self::ManyCalls => {
                while deltas.len() + 40 <= count {
                    call(&mut deltas, 20);
                    deltas.push("\n");
                }
                deltas.resize(count, WORD);
            }
        }
        deltas
    }
}

fn call(deltas: &mut Vec<&'static str>, words: usize) {
    deltas.extend([
        "<tool_call>",
        "\n{\"n",
        "ame\"",
        ": \"t",
        "ool\"",
        ", \"a",
        "rgum",
        "ents",
        "\": {",
        "\"x\":",
        " \"",
    ]);
    deltas.extend(std::iter::repeat_n(WORD, words));
    deltas.extend(["\"}}\n", "</tool_call>"]);
}

struct Sandbox {
    plugin: Arc<Plugin>,
    markers: Arc<MarkerTable>,
}

impl Sandbox {
    fn new() -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugins/qwen3.wasm");
        let runtime = Runtime::new(&ParserLimits::default()).expect("a sandbox");
        let plugin = runtime.load(&PluginSource::File(file), &[]).expect("the shipped parser");
        let literals = plugin.descriptor().markers.clone();
        let id = |literal: &str| {
            literals.iter().position(|known| known == literal).map(|at| u32::try_from(at).expect("few"))
        };
        let markers = Arc::new(MarkerTable::new(&literals, id).expect("markers"));
        Self { plugin, markers }
    }

    /// The pieces of a stream: markers by id, as a tokenizer would have them.
    fn pieces<'a>(&self, deltas: &[&'a str]) -> Vec<Piece<'a>> {
        let literals = &self.plugin.descriptor().markers;
        let id = |text: &str| {
            literals.iter().position(|known| known == text).map(|at| u32::try_from(at).expect("few"))
        };
        deltas.iter().map(|text| Piece { id: Some(id(text).unwrap_or(u32::MAX)), text }).collect()
    }

    fn run(&self, pieces: &[Piece<'_>], events: &mut Vec<TurnEvent>) {
        let tool = Tool {
            name: "tool".to_owned(),
            description: String::new(),
            kind: ToolKind::Function,
            parameters_json: "{}".to_owned(),
            strict: false,
            grammar: None,
        };
        let request = Request {
            tools: vec![tool],
            tool_choice: ToolChoice::Auto,
            parallel_tool_calls: true,
            response_schema: None,
            options: Vec::new(),
        };
        let parser = self.plugin.start(&request).expect("an instance");
        let mut settings = TurnSettings::new("qwen3", Arc::clone(&self.markers));
        settings.tools = Arc::new(["tool".to_owned()]);
        let mut turn = Turn::new(settings, parser);
        for piece in pieces {
            let _ = turn.step(std::slice::from_ref(piece), events);
            events.clear();
        }
        let _ = turn.finish(FinishReason::Stop, None, events);
        assert!(turn.fault().is_none(), "the parser is healthy: {:?}", turn.fault());
        events.clear();
    }
}

#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn parser_figures() {
    let sandbox = Sandbox::new();
    println!(
        "\nqwen3 parser in its sandbox, with markers, ops and conservation: ns of CPU per delta of about 4 bytes"
    );
    print!("{:28}", "shape");
    for length in LENGTHS {
        print!("{length:>9}");
    }
    println!();
    for shape in SHAPES {
        print!("{:28}", shape.name());
        for &length in LENGTHS {
            let deltas = shape.deltas(length);
            let pieces = sandbox.pieces(&deltas);
            let mut events = Vec::new();
            let repeats = (65_536 / length).max(1);
            let time = median_cpu(7, || (0..repeats).for_each(|_| sandbox.run(&pieces, &mut events)));
            print!("{:9.0}", time.as_nanos() as f64 / (repeats * pieces.len()) as f64);
        }
        println!();
    }
}

fn replay_model(text: &str) -> (Model, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut setup = Setup::replay(folder.path(), &json!([{ "text": text, "tokens_per_step": 1 }]));
    assert!(matches!(setup.model.engine, EngineChoice::Replay(_)));
    setup.model.context = Some(1 << 20);
    (Model::load(&setup.model, &Limits::default(), &mut |_| {}).expect("the model loads"), folder)
}

fn request(protocol: Protocol) -> Vec<u8> {
    let tools = json!([{ "type": "function", "name": "tool", "parameters": { "type": "object" } }]);
    let body = match protocol {
        Protocol::Responses => json!({ "model": "m", "input": "x", "stream": true, "tools": tools }),
        Protocol::Chat => {
            let tools = json!([{ "type": "function", "function": tools[0] }]);
            json!({ "model": "m", "messages": [{ "role": "user", "content": "x" }], "stream": true, "tools": tools })
        }
    };
    body.to_string().into_bytes()
}

/// One answer from the engine's first step to the last SSE byte; how many tokens it had.
async fn answer(model: &Model, protocol: Protocol, body: &[u8]) -> u32 {
    let Call { job, mut machine, .. } = protocol.read(body, &Defaults::default()).expect("a request");
    let mut turn = model.start(job).await.expect("a turn");
    let (mut frames, mut events) = (Frames::new(), Vec::new());
    machine.begin(&mut frames);
    loop {
        let ended = turn.next(&mut events).await;
        for event in events.drain(..) {
            machine.turn(&event, &mut frames);
        }
        if let Some(ended) = ended {
            machine.end(&ended.end, ended.usage, &mut frames);
            std::hint::black_box(frames.take());
            return ended.usage.output_tokens;
        }
        std::hint::black_box(frames.take());
    }
}

fn path_figures(runtime: &tokio::runtime::Runtime) {
    println!(
        "\nwhole path, engine step to SSE bytes (detokenizer, markers, parser, turn, events, JSON): µs of CPU per token"
    );
    let prose = "The weather in the city is sunny. ".repeat(2000);
    let call = format!(
        "<tool_call>\n{{\"name\": \"tool\", \"arguments\": {{\"x\": \"{}\"}}}}\n</tool_call>",
        "the weather ".repeat(5000)
    );
    let reasoning = format!("<think>\n{}\n</think>\n\nDone.", "The user wants the weather. ".repeat(2000));
    for (name, text) in [("text", &prose), ("reasoning", &reasoning), ("arguments of a call", &call)] {
        let (model, _folder) = replay_model(text);
        for protocol in [Protocol::Responses, Protocol::Chat] {
            let body = request(protocol);
            let tokens = runtime.block_on(answer(&model, protocol, &body));
            let time = median_cpu(7, || {
                runtime.block_on(answer(&model, protocol, &body));
            });
            let per_token = time.as_secs_f64() * 1e6 / f64::from(tokens);
            println!("{name:28}{:>12}{per_token:9.2}   ({tokens} tokens)", format!("{protocol:?}"));
        }
    }
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("VmRSS");
    line.trim().trim_end_matches(" kB").trim().parse().expect("a number")
}

fn live_figures(runtime: &tokio::runtime::Runtime) {
    const STREAMS: u64 = 1000;
    let (model, _folder) = replay_model(&"<think>\nSome words of reasoning that take a while. ".repeat(50));
    let body = request(Protocol::Responses);
    let held = runtime.block_on(async {
        let before = resident_kib();
        let mut live = Vec::new();
        for _ in 0..STREAMS {
            let Call { job, mut machine, .. } =
                Protocol::Responses.read(&body, &Defaults::default()).expect("a request");
            let mut turn = model.start(job).await.expect("a turn");
            let (mut frames, mut events) = (Frames::new(), Vec::new());
            for _ in 0..20 {
                assert!(turn.next(&mut events).await.is_none());
                for event in events.drain(..) {
                    machine.turn(&event, &mut frames);
                }
                frames.take();
            }
            live.push((turn, machine, frames));
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
    parser_figures();
    path_figures(&runtime);
    live_figures(&runtime);
}

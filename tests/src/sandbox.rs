//! Parsers in their sandbox beside streams of their format, for benchmarks and for counts.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::vec;

use contract::{Fault, FinishReason, Request, SendParser, Step, StreamParser, Tool, ToolKind};
use parsers::{Plugin, PluginSource, Runtime, TableSource};
use turn::{
    Binding, ItemHead, ItemStatus, TokenText, Turn, TurnEvent, TurnEvents, TurnSettings, counted_call_ids,
};

use crate::formats::Format;

/// Folder of the shipped plugins.
pub const SHIPPED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../plugins");
/// Component that reads tables.
pub const TABLE_READER: &str = "response-template";

/// Loaded plugin of a format.
#[derive(Debug)]
pub struct Sandbox {
    /// The format.
    pub format: &'static Format,
    /// Where the plugin came from.
    pub source: PluginSource,
    /// The plugin.
    pub plugin: Arc<Plugin>,
    binding: Arc<Binding>,
    /// Request that declares one tool.
    pub request: Request,
}

impl Sandbox {
    /// Loads the plugin.
    ///
    /// # Panics
    /// It can't be loaded.
    pub fn new(runtime: &Runtime, format: &'static Format, source: PluginSource) -> Self {
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

    /// The deltas as tokens: a marker has the id of its index.
    pub fn pieces<'a>(&self, deltas: &[&'a str]) -> Vec<TokenText<'a>> {
        let literals = &self.plugin.descriptor().markers;
        let id = |text| Some(token(self.format, literals, text).unwrap_or(u32::MAX));
        deltas.iter().map(|text| TokenText::new(id(text), text)).collect()
    }

    /// A turn with a fresh instance.
    ///
    /// # Panics
    /// It can't be started.
    pub fn turn(&self) -> Turn {
        self.turn_of(self.plugin.start(&self.request).expect("an instance"))
    }

    /// A turn with a fresh instance and these tools.
    ///
    /// # Panics
    /// It can't be started.
    pub fn turn_with(&self, tools: &Arc<[Tool]>) -> Turn {
        let request = Request { tools: Arc::clone(tools), ..self.request.clone() };
        let parser = self.plugin.start(&request).expect("an instance");
        Turn::new(&self.binding, parser, TurnSettings::of(&request, counted_call_ids()))
    }

    fn turn_of(&self, parser: SendParser) -> Turn {
        let settings = TurnSettings::of(&self.request, counted_call_ids());
        Turn::new(&self.binding, parser, settings)
    }

    /// Number of times that the parser is asked in a small call, the second of its stream.
    ///
    /// # Panics
    /// The parser can't be started.
    pub fn asked(&self) -> usize {
        let warm_up = self.pieces(&self.format.warm_up());
        let twice: Vec<_> = warm_up.iter().chain(&warm_up).copied().collect();
        // The last answer is that to `finish`.
        self.answers(&twice).len() - self.answers(&warm_up).len()
    }

    /// What the parser answers in a stream.
    ///
    /// # Panics
    /// The parser can't be started.
    pub fn answers(&self, pieces: &[TokenText<'_>]) -> Vec<Step> {
        let answers = Arc::default();
        let parser = self.plugin.start(&self.request).expect("an instance");
        let mut turn = self.turn_of(Box::new(Recorded { parser, answers: Arc::clone(&answers) }));
        let mut events = TurnEvents::default();
        for piece in pieces {
            let _ = turn.step(std::slice::from_ref(piece), &mut events);
        }
        let _ = turn.finish(FinishReason::Stop, None, &mut events);
        std::mem::take(&mut *answers.lock().expect("nothing panics"))
    }

    /// Fuel that the parser takes for a stream but for its start and end, in a sandbox that is
    /// `metered`: about the number of its instructions, whatever the machine does beside it.
    ///
    /// # Panics
    /// The parser can't be started, or fails.
    pub fn fuel(&self, metered: &Runtime, pieces: &[TokenText<'_>]) -> u64 {
        let plugin = metered.load(&self.source, &[]).expect("a parser");
        let parser = plugin.start(&self.request).expect("an instance");
        let used = |parser: &SendParser| parser.usage().expect("it is metered").fuel;
        let (begun, last) = (used(&parser), Arc::new(AtomicU64::new(0)));
        let mut turn = self.turn_of(Box::new(Metered { parser, last: Arc::clone(&last) }));
        let mut events = TurnEvents::default();
        for piece in pieces {
            let _ = turn.step(std::slice::from_ref(piece), &mut events);
        }
        last.load(Ordering::Relaxed) - begun
    }

    /// A turn whose parser gives these answers, of which it has enough, and costs nothing.
    pub fn replayed(&self, answers: Vec<Step>) -> Turn {
        self.turn_of(Box::new(Replayed(answers.into_iter())))
    }

    /// Checks that the parser finds the intended number of calls in a stream, all of them complete.
    ///
    /// # Panics
    /// It doesn't.
    pub fn check(&self, deltas: &[&str]) {
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

/// A parser whose answers are kept.
struct Recorded {
    parser: SendParser,
    answers: Arc<Mutex<Vec<Step>>>,
}

impl Recorded {
    fn keep(&self, answer: Result<Step, Fault>) -> Result<Step, Fault> {
        self.answers.lock().expect("nothing panics").extend(answer.clone());
        answer
    }
}

impl StreamParser for Recorded {
    fn text(&mut self, chunk: &str) -> Result<Step, Fault> {
        let answer = self.parser.text(chunk);
        self.keep(answer)
    }

    fn marker(&mut self, index: u32) -> Result<Step, Fault> {
        let answer = self.parser.marker(index);
        self.keep(answer)
    }

    fn finish(&mut self, reason: FinishReason) -> Result<Step, Fault> {
        let answer = self.parser.finish(reason);
        self.keep(answer)
    }
}

/// A parser whose fuel is told after each call.
struct Metered {
    parser: SendParser,
    last: Arc<AtomicU64>,
}

impl Metered {
    fn told(&self, answer: Result<Step, Fault>) -> Result<Step, Fault> {
        if let Some(usage) = self.parser.usage() {
            self.last.store(usage.fuel, Ordering::Relaxed);
        }
        answer
    }
}

impl StreamParser for Metered {
    fn text(&mut self, chunk: &str) -> Result<Step, Fault> {
        let answer = self.parser.text(chunk);
        self.told(answer)
    }

    fn marker(&mut self, index: u32) -> Result<Step, Fault> {
        let answer = self.parser.marker(index);
        self.told(answer)
    }

    fn finish(&mut self, reason: FinishReason) -> Result<Step, Fault> {
        self.parser.finish(reason)
    }
}

/// A parser whose answers are known.
struct Replayed(vec::IntoIter<Step>);

impl Replayed {
    fn next(&mut self) -> Result<Step, Fault> {
        self.0.next().ok_or_else(|| Fault::new("replayed", "asked once too often"))
    }
}

impl StreamParser for Replayed {
    fn text(&mut self, _: &str) -> Result<Step, Fault> {
        self.next()
    }

    fn marker(&mut self, _: u32) -> Result<Step, Fault> {
        self.next()
    }

    fn finish(&mut self, _: FinishReason) -> Result<Step, Fault> {
        self.next()
    }
}

/// Token id of a marker; `None` for other texts and for markers that aren't one token of the
/// model's tokenizer.
fn token(format: &Format, literals: &[String], text: &str) -> Option<u32> {
    let at = literals.iter().position(|known| known == text && !format.spelt.contains(&text))?;
    u32::try_from(at).ok()
}

/// A component of the folder, or a shipped table that the folder's component reads.
///
/// # Panics
/// The table can't be read.
pub fn source(name: &str, plugins: &Path) -> PluginSource {
    let component = |name: &str| PluginSource::File(plugins.join(name).with_extension("wasm"));
    let table = Path::new(SHIPPED).join("tables").join(name).with_extension("json");
    if table.exists() {
        TableSource::open(&table, component(TABLE_READER)).expect("a table")
    } else {
        component(name)
    }
}

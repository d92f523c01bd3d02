//! Parsers in their sandbox beside streams of their format, for benchmarks and for counts.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use contract::{Fault, FinishReason, Request, SendParser, Step, StreamParser, ToolKind};
use host::parser::{Plugin, PluginSource, Runtime, TableSource};
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

    fn turn_of(&self, parser: SendParser) -> Turn {
        let settings = TurnSettings::of(&self.request, counted_call_ids());
        Turn::new(&self.binding, parser, settings)
    }

    /// Number of times that the parser is asked in a small call, the second of its stream.
    ///
    /// # Panics
    /// The parser can't be started.
    pub fn asked(&self) -> usize {
        let count = Arc::<AtomicUsize>::default();
        let parser = self.plugin.start(&self.request).expect("an instance");
        let mut turn = self.turn_of(Box::new(Counted { parser, count: Arc::clone(&count) }));
        let mut events = TurnEvents::default();
        let warm_up = self.format.warm_up();
        let [_, twice] = [(); 2].map(|()| {
            for piece in self.pieces(&warm_up) {
                let _ = turn.step(&[piece], &mut events);
            }
            count.swap(0, Ordering::Relaxed)
        });
        twice
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

/// A parser whose calls are counted.
struct Counted {
    parser: SendParser,
    count: Arc<AtomicUsize>,
}

impl StreamParser for Counted {
    fn text(&mut self, chunk: &str) -> Result<Step, Fault> {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.parser.text(chunk)
    }

    fn marker(&mut self, index: u32) -> Result<Step, Fault> {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.parser.marker(index)
    }

    fn finish(&mut self, reason: FinishReason) -> Result<Step, Fault> {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.parser.finish(reason)
    }
}

/// Token id of a marker; `None` for other texts and for markers that aren't one token of the model's tokenizer.
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

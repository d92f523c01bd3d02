//! Sluice: the shipped component in its sandbox with all limits on, driven by a turn (crate
//! `turn`), which counts the bytes.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex};

use contract::{FinishReason, Request, ToolKind};
use parsers::ParserLimits;
use parsers::{Plugin, PluginSource, Runtime};
use readers::{Delta, Sink, Stream};
use turn::{Binding, ItemHead, TokenText, Turn, TurnEvent, TurnEvents, TurnSettings, counted_call_ids};

use super::{TOOL, parameters};
use crate::stream::{Cut, Start};

/// Returns the format's plugin, which is compiled once.
fn load(format: &str) -> Arc<Plugin> {
    static RUNTIME: LazyLock<Runtime> =
        LazyLock::new(|| Runtime::new(&ParserLimits::default()).expect("a sandbox"));
    static PLUGINS: LazyLock<Mutex<HashMap<String, Arc<Plugin>>>> = LazyLock::new(Mutex::default);
    let mut plugins = PLUGINS.lock().expect("one thread");
    let compile = || {
        let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../plugins"));
        let file = PluginSource::File(folder.join(format).with_extension("wasm"));
        RUNTIME.load(&file, &[]).expect("a shipped parser: plugins/build.sh builds it")
    };
    Arc::clone(plugins.entry(format.to_owned()).or_insert_with(compile))
}

/// Literals of the format's markers, in their order.
pub(crate) fn markers(format: &str) -> Vec<String> {
    load(format).descriptor().markers.clone()
}

pub(super) fn start(format: &str) -> Option<Start> {
    let format = crate::format(format)?;
    let (plugin, request) = (load(format.name), request());
    Some(Box::new(move |cut| {
        let parser = plugin.start(&request).expect("an instance");
        let literals = &plugin.descriptor().markers;
        let token = |text: &str| {
            let at = literals.iter().position(|known| known == text && !format.spelt.contains(&text))?;
            (cut == Cut::Tokens).then(|| u32::try_from(at).expect("few markers"))
        };
        let binding = Binding::new(plugin.descriptor(), token).expect("markers");
        let settings = TurnSettings::of(&request, counted_call_ids());
        Some(Box::new(Ours {
            turn: Turn::new(&binding, parser, settings),
            events: TurnEvents::default(),
            place: Place::default(),
        }))
    }))
}

fn request() -> Request {
    let tool = turn::values::tool(TOOL, ToolKind::Function, &parameters().to_string());
    Request { tools: [tool].into(), ..Request::default() }
}

struct Ours {
    turn: Turn,
    events: TurnEvents,
    place: Place,
}

/// Kind of the open item, to which the turn's text belongs, and the number of calls.
#[derive(Default)]
struct Place {
    open: Open,
    calls: usize,
}

#[derive(Default)]
enum Open {
    #[default]
    Content,
    Reasoning,
    Call,
}

impl Place {
    fn hand_on(&mut self, events: &mut TurnEvents, sink: &mut dyn Sink) {
        for event in events.iter() {
            match event {
                TurnEvent::Open(ItemHead::Reasoning) => self.open = Open::Reasoning,
                TurnEvent::Open(ItemHead::Message { .. }) => self.open = Open::Content,
                TurnEvent::Open(ItemHead::ToolCall { name, .. }) => {
                    self.open = Open::Call;
                    sink.call(self.calls, name);
                    self.calls += 1;
                }
                TurnEvent::Text(text) => match self.open {
                    Open::Content => sink.content(text),
                    Open::Reasoning => sink.reasoning(text),
                    Open::Call => sink.arguments(self.calls - 1, text),
                },
                _ => {}
            }
        }
        events.clear();
    }
}

impl Stream for Ours {
    fn feed(&mut self, delta: &Delta<'_>, sink: &mut dyn Sink) {
        let piece = TokenText::new(delta.marker, delta.text);
        let _ = self.turn.step(&[piece], &mut self.events);
        self.place.hand_on(&mut self.events, sink);
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        let _ = self.turn.finish(FinishReason::Stop, None, &mut self.events);
        self.place.hand_on(&mut self.events, sink);
        assert!(self.turn.fault().is_none(), "the parser is healthy: {:?}", self.turn.fault());
    }
}

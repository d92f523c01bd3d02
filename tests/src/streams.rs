//! Streams played straight through the sandbox, without a server: healthy ones, hostile ones, and how they end.

use std::borrow::Cow;
use std::sync::Arc;

use host::parser::contract::{FinishReason, Request, ToolChoice};
use host::parser::{Plugin, PluginLoadError, PluginSource, Runtime};
use host::turn::{Flow, Item, MarkerTable, TokenText, Turn, TurnEnd, TurnEvents, TurnSettings, fold};

use crate::guests::guest;

/// The parser that the binary ships, as a file's bytes.
pub const SHIPPED: &[u8] = include_bytes!("../../plugins/qwen3.wasm");

/// Loads a component from memory.
pub fn load(runtime: &Runtime, name: &str, bytes: &'static [u8]) -> Result<Arc<Plugin>, PluginLoadError> {
    runtime.load(&PluginSource::Bytes { name: name.to_owned(), bytes: Cow::Borrowed(bytes) }, &[])
}

/// Loads a hostile guest, if it gets that far.
pub fn load_guest(runtime: &Runtime, name: &str) -> Option<Arc<Plugin>> {
    let source = PluginSource::Bytes { name: name.to_owned(), bytes: Cow::Owned(guest(name)) };
    runtime.load(&source, &[]).ok()
}

/// A request without tools.
pub fn request() -> Request {
    Request {
        tools: vec![],
        tool_choice: ToolChoice::Auto,
        parallel_tool_calls: true,
        options: vec![],
        ..Request::default()
    }
}

/// One stream under way.
pub struct Stream {
    turn: Turn,
    events: TurnEvents,
}

impl Stream {
    /// Starts one; none if the guest doesn't.
    pub fn start(plugin: &Plugin) -> Option<Self> {
        let descriptor = plugin.descriptor();
        let markers = MarkerTable::by_text(&descriptor.markers).expect("the host checked them");
        let mut count = 0;
        let settings = TurnSettings {
            stops: descriptor.stops.clone().into(),
            trim: descriptor.trim,
            call_ids: Box::new(move || {
                count += 1;
                format!("call_{count}")
            }),
            ..TurnSettings::new(descriptor.name.clone(), Arc::new(markers))
        };
        Some(Self {
            turn: Turn::new(settings, plugin.start(&request()).ok()?),
            events: TurnEvents::default(),
        })
    }

    /// One delta.
    pub fn feed(&mut self, text: &str) -> Flow {
        self.turn.step(&[TokenText::new(None, text)], &mut self.events)
    }

    /// Whether its parser failed.
    pub fn is_faulted(&self) -> bool {
        self.turn.fault().is_some()
    }

    /// Its items, its end, and whether its parser failed.
    ///
    /// # Panics
    /// The stream is not well-formed.
    pub fn finish(mut self) -> (Vec<Item>, TurnEnd, bool) {
        let end = self.turn.finish(FinishReason::Stop, None, &mut self.events);
        (fold(self.events).expect("a well-formed stream"), end, self.turn.fault().is_some())
    }
}

/// Deltas of about four bytes.
pub fn deltas(output: &str) -> Vec<&str> {
    let (mut deltas, mut rest) = (Vec::new(), output);
    while !rest.is_empty() {
        let (delta, later) = rest.split_at(rest.ceil_char_boundary(4.min(rest.len())));
        deltas.push(delta);
        rest = later;
    }
    deltas
}

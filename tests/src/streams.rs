//! Streams of text passed straight to a parser in its sandbox, without a server, and their results.

use std::borrow::Cow;
use std::sync::Arc;

use contract::{FinishReason, Request};
use parsers::{Plugin, PluginLoadError, PluginSource, Runtime};
use turn::{
    Binding, Flow, FoldedItem, TokenText, Turn, TurnEnd, TurnEvents, TurnSettings, counted_call_ids, fold,
};

use crate::guests::guest;

/// Qwen3's parser, which the binary embeds, as the bytes of its file.
pub const SHIPPED: &[u8] = include_bytes!("../../plugins/qwen3.wasm");

/// Loads a component from memory.
pub fn load(runtime: &Runtime, name: &str, bytes: &'static [u8]) -> Result<Arc<Plugin>, PluginLoadError> {
    runtime.load(&PluginSource::Bytes { name: name.to_owned(), bytes: Cow::Borrowed(bytes) }, &[])
}

/// Loads a hostile guest; `None` if it doesn't load.
pub fn load_guest(runtime: &Runtime, name: &str) -> Option<Arc<Plugin>> {
    let source = PluginSource::Bytes { name: name.to_owned(), bytes: Cow::Owned(guest(name)) };
    runtime.load(&source, &[]).ok()
}

/// Returns a request without tools.
pub fn request() -> Request {
    Request::default()
}

/// Running stream of one parser.
pub struct Stream {
    turn: Turn,
    events: TurnEvents,
}

impl Stream {
    /// Starts a stream; `None` if the guest doesn't start.
    pub fn start(plugin: &Plugin) -> Option<Self> {
        let binding = Binding::by_text(plugin.descriptor()).expect("the host checked its markers");
        let request = request();
        let settings = TurnSettings::of(&request, counted_call_ids());
        Some(Self {
            turn: Turn::new(&binding, plugin.start(&request).ok()?, settings),
            events: TurnEvents::default(),
        })
    }

    /// Passes one delta to the parser.
    pub fn feed(&mut self, text: &str) -> Flow {
        self.turn.step(&[TokenText::new(None, text)], &mut self.events)
    }

    /// Whether the parser failed.
    pub fn is_faulted(&self) -> bool {
        self.turn.fault().is_some()
    }

    /// Ends the stream; returns its items, its end, and whether the parser failed.
    ///
    /// # Panics
    /// The stream is not well-formed.
    pub fn finish(mut self) -> (Vec<FoldedItem>, TurnEnd, bool) {
        let end = self.turn.finish(FinishReason::Stop, None, &mut self.events);
        (fold(self.events).expect("a well-formed stream"), end, self.turn.fault().is_some())
    }
}

/// Splits an output into deltas of about four bytes.
pub fn deltas(output: &str) -> Vec<&str> {
    let (mut deltas, mut rest) = (Vec::new(), output);
    while !rest.is_empty() {
        let (delta, later) = rest.split_at(rest.ceil_char_boundary(4.min(rest.len())));
        deltas.push(delta);
        rest = later;
    }
    deltas
}

//! Other projects' parsers behind one trait, one adapter a file. Used by the benchmark of peers, and by the program `read`.
//!
//! Invariant: an adapter passes on all output of its parser for a delta before `feed` returns, and copies nothing.

mod dynamo;
pub mod dynamo_v2;
pub mod harmony;
mod record;
mod smg;
pub mod symphony;

use serde::Deserialize;
use serde_json::Value;

pub use record::Record;

/// Delta of a model's output.
#[derive(Clone, Default)]
pub struct Delta<'a> {
    /// Text of the delta.
    pub text: &'a str,
    /// Token id of the delta, for a parser that is told some: the marker's index if it is a marker with a token of its own, `u32::MAX` for
    /// other tokens; `None` for plain text.
    pub marker: Option<u32>,
    /// The delta's tokens in Harmony's vocabulary, for the parsers that read those; empty if the parser has to read text.
    pub tokens: Vec<u32>,
}

/// Sink of a parser's output.
pub trait Sink {
    /// Appends to the message.
    fn content(&mut self, text: &str);
    /// Appends to the reasoning.
    fn reasoning(&mut self, text: &str);
    /// Begins the call of this number, counted from 0.
    fn call(&mut self, index: usize, name: &str);
    /// Appends to that call's arguments.
    fn arguments(&mut self, index: usize, json: &str);
}

/// Turn that one parser, or two in a row, read.
pub trait Stream {
    /// Reads the next delta.
    fn feed(&mut self, delta: &Delta<'_>, sink: &mut dyn Sink);

    /// Ends the turn, which the model ended.
    fn finish(&mut self, sink: &mut dyn Sink);

    /// Reads a whole turn, as the server does for an answer that isn't streamed: at once, if nothing else is known.
    fn whole(&mut self, deltas: &[Delta<'_>], sink: &mut dyn Sink) {
        let text: String = deltas.iter().map(|delta| delta.text).collect();
        let tokens = deltas.iter().flat_map(|delta| delta.tokens.iter().copied()).collect();
        self.feed(&Delta { text: &text, marker: None, tokens }, sink);
        self.finish(sink);
    }
}

/// Names of a server's two parsers, as its command line has them.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Names {
    /// Parser of calls, or of the whole turn.
    pub calls: Option<String>,
    /// Parser of reasoning.
    pub reasoning: Option<String>,
}

/// Tool of a request.
#[derive(Clone, Debug, Deserialize)]
pub struct Tool {
    /// Name of the function.
    pub name: String,
    /// JSON schema of its arguments.
    pub parameters: Value,
}

/// State in which the prompt leaves the turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Opening {
    /// Nothing is open.
    #[default]
    Nothing,
    /// Reasoning is open.
    Reasoning,
    /// Reasoning is over, or the message is open.
    Answer,
}

/// What a server knows of a turn before the model writes.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Request {
    /// Declared tools.
    pub tools: Vec<Tool>,
    /// End of the prompt: what the template opens the turn with.
    pub prompt: String,
    /// What that leaves open.
    pub opening: Opening,
    /// Whether the client asked for reasoning.
    pub thinks: bool,
}

/// Starts a stream; `None` if the server has no parsers of these names.
pub type Start = fn(&Names, &Request) -> Option<Box<dyn Stream>>;

/// Projects whose parsers read text, by the name that the program `read` takes.
pub const PROJECTS: [(&str, Start); 4] = [
    ("smg", smg::start),
    ("symphony", symphony::start),
    ("dynamo", dynamo::start),
    ("dynamo-v2", dynamo_v2::start),
];

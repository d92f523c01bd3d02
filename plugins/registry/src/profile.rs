//! What the tests of all formats must know of one. It lies in the parser's folder, as
//! `tests/format/profile.rs`.

/// A format as the tests of all formats see it.
#[derive(Debug, Clone, Copy)]
pub struct Profile {
    /// Generation prompts with which templates of this format open a turn.
    pub prompts: &'static [&'static str],
    /// How an answer and a call are written.
    pub writing: Writing,
    /// What sets the format's grammar apart.
    pub grammar: GrammarTraits,
    /// Streams as the models' tokenizers cut them.
    pub deltas: Deltas,
    /// How often the parser is asked in a call of about thirty-five deltas, the prose behind it
    /// included. Fewer is better: each time costs more than a hundred bytes that the host routes by
    /// itself.
    pub asked: usize,
    /// Openings as templates write them, and where a turn stands after each.
    pub openings: &'static [Opening],
    /// Turns with a call of `q_z`, as chat templates write them.
    pub turns: &'static [CallingTurn],
}

/// How an answer and a call of the tool `f` are written behind a generation prompt.
#[derive(Debug, Clone, Copy)]
pub struct Writing {
    /// Generation prompt with which the template opens an answer.
    pub prompt: &'static str,
    /// Markup before and after the message.
    pub answer: [&'static str; 2],
    /// Markup of a call.
    pub call: Call,
}

/// Markup of a call of `f`.
#[derive(Debug, Clone, Copy)]
pub enum Call {
    /// Markup before and after the arguments, which are JSON.
    Json([&'static str; 2]),
    /// Markup before and after all parameters, and for each parameter: before its key, before its
    /// value, and after its value.
    Parameters([&'static str; 2], [&'static str; 3]),
    /// The same for formats that say of each value whether it is a string: markup before the key,
    /// before a string, before another value, and behind the value.
    Typed([&'static str; 2], [&'static str; 4]),
    /// Markup before and after the members of the arguments, which are in Gemma's notation.
    Bare([&'static str; 2]),
    /// The same in elements named after their keys.
    Elements([&'static str; 2]),
    /// Markup before and after the keywords that are the arguments in Python.
    Python([&'static str; 2]),
}

/// What sets a format's grammar apart.
#[derive(Debug, Clone, Copy)]
pub struct GrammarTraits {
    /// Indices of the markers that tokenizers have as tokens; if empty, all markers.
    pub tokens: &'static [usize],
    /// Tokens that stand in markers which tokenizers have as text.
    pub inner: &'static [&'static str],
    /// Whether the format can't be constrained where markers are text.
    pub only_tokens: bool,
    /// How inputs of custom tools are written.
    pub inputs: Inputs,
    /// Whether a random walk into any value nests ever deeper, as nothing but letters ends it.
    pub nests: bool,
}

impl GrammarTraits {
    /// Every marker a token or all of them text, and inputs in JSON.
    pub const USUAL: Self =
        Self { tokens: &[], inner: &[], only_tokens: false, inputs: Inputs::Json, nests: false };
}

/// How a format writes inputs of custom tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inputs {
    /// As JSON strings, or in a notation of the format's own.
    Json,
    /// Raw, followed by a marker that is a token.
    BeforeToken,
    /// Raw, followed by text.
    BeforeText,
}

/// Prose and calls in deltas of about four bytes, with a `·` between two. A marker is a delta of its
/// own.
#[derive(Debug, Clone, Copy)]
pub struct Deltas {
    /// Markers for which the tokenizer has no token, so that they are found in the text.
    pub spelt: &'static [&'static str],
    /// Deltas before prose and behind it.
    pub prose: [&'static str; 2],
    /// Deltas of a call before and behind its string argument.
    pub call: [&'static str; 2],
    /// Deltas after a call.
    pub between: &'static str,
}

/// Generation prompt in pieces: markers, and the text between them.
#[derive(Debug, Clone, Copy)]
pub struct Opening {
    /// The pieces.
    pub pieces: &'static [&'static str],
    /// What text would be behind them.
    pub next: Next,
    /// Whether the turn is still at its beginning.
    pub is_at_beginning: bool,
}

/// What text would be behind an opening.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// A message.
    Message,
    /// Reasoning, which the marker of this index ends; `None` if no single marker ends it.
    Reasoning(Option<usize>),
    /// Neither.
    Elsewhere,
}

/// Turn with a call of the tool `q_z`, whose parameter `q` is `z w`.
#[derive(Debug, Clone, Copy)]
pub struct CallingTurn {
    /// Type of a model that the parser claims.
    pub model_type: &'static str,
    /// Generation prompt.
    pub opening: &'static str,
    /// The turn behind it.
    pub written: &'static str,
}

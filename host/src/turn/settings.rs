//! Settings of a turn.

use std::sync::Arc;

use super::markers::MarkerTable;
use crate::limits::ParserLimits;
use crate::parser::contract::Trim;
use crate::random;

/// What happens to a turn whose parser fails while no tool call is open. (With one open, the turn always fails.)
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FaultPolicy {
    /// The rest of the text goes to the open item, else to content.
    #[default]
    Continue,
    /// The turn fails.
    Fail,
}

/// What happens to a call that begins inside reasoning, which may be a draft of a later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DraftCalls {
    /// The call waits until the reasoning's end, after which it is reasoning, or the turn's end, at which it counts.
    #[default]
    Held,
    /// The call counts at once.
    AtOnce,
}

impl DraftCalls {
    /// Name of the parser option that says which.
    const OPTION: &str = "calls-in-reasoning";

    /// Reads a parser's options.
    ///
    /// # Errors
    /// The option has another value; the message has one line.
    pub fn of(options: &[(String, String)]) -> Result<Self, String> {
        match options.iter().rfind(|(name, _)| name == Self::OPTION).map(|(_, value)| value.as_str()) {
            None | Some("held") => Ok(Self::Held),
            Some("at-once") => Ok(Self::AtOnce),
            Some(value) => Err(format!("{}={value}: it is held or at-once", Self::OPTION)),
        }
    }
}

/// Generator of tool calls' ids, each of which is unique.
pub type CallIds = Box<dyn FnMut() -> String + Send>;

/// Settings of one turn.
pub struct TurnSettings {
    /// Name of the parser, for messages.
    pub parser: String,
    /// Markers of the parser.
    pub markers: Arc<MarkerTable>,
    /// Indices of the markers that end the model's turn: never shown, not even after a fault.
    pub stops: Arc<[u32]>,
    /// Indices of the markers that come as tokens of their own: they end a string of a call's JSON.
    pub token_markers: Arc<[u32]>,
    /// Whether such a marker is text of the string all the same where the string plainly goes on behind it.
    pub reads_on: bool,
    /// Whether the model may call tools. What is a call where it may is dropped where it may not, and ends no turn.
    pub may_call: bool,
    /// What happens to calls inside reasoning.
    pub drafts: DraftCalls,
    /// Which items lose the white space at their ends.
    pub trim: Trim,
    /// Names of the tools that the request declares.
    pub tools: Arc<[String]>,
    /// What to do when the parser fails.
    pub fault_policy: FaultPolicy,
    /// Maximum number of bytes that the parser may leave undecided, and of white space that is held back for trimming.
    pub held_bytes: usize,
    /// Generator of tool calls' ids.
    pub call_ids: CallIds,
}

impl TurnSettings {
    /// Creates settings for a parser with these markers, without tools; the rest are defaults.
    pub fn new(parser: impl Into<String>, markers: Arc<MarkerTable>) -> Self {
        Self {
            parser: parser.into(),
            markers,
            stops: Arc::new([]),
            token_markers: Arc::new([]),
            reads_on: false,
            may_call: true,
            drafts: DraftCalls::default(),
            trim: Trim::default(),
            tools: Arc::new([]),
            fault_policy: FaultPolicy::default(),
            held_bytes: ParserLimits::default().held_bytes,
            call_ids: Box::new(random_call_id),
        }
    }
}

impl std::fmt::Debug for TurnSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TurnSettings").field("parser", &self.parser).finish_non_exhaustive()
    }
}

/// Returns a random call id: `call_` and 24 hexadecimal digits from the operating system.
///
/// # Panics
/// If the system has no randomness, without which ids wouldn't be unique.
pub fn random_call_id() -> String {
    format!("call_{}", random::hex::<12>())
}

//! Settings of a turn.

use std::sync::Arc;

use super::call_ids::CallIds;
use super::stop::StopStrings;
use contract::{Request, Tool, Trim};

/// What happens to a turn whose parser fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FaultPolicy {
    /// Outside a tool call the rest of the text goes to the open item, else to content. Inside a
    /// call the turn fails.
    #[default]
    Continue,
    /// As [`Self::Continue`], and inside a call, too: the call is incomplete, the rest of the text
    /// is content, and a turn that the model ends by itself fails then, as after any call that was
    /// cut off.
    ContinueInCalls,
    /// The turn fails.
    Fail,
}

/// What happens to a call that begins inside reasoning, which may be a draft of a later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DraftCalls {
    /// The call waits until the reasoning's end, after which it is reasoning, or the turn's end, at
    /// which it counts.
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

/// How many tools the model may call in one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AllowedCalls {
    /// None. What would be a call is dropped, and ends no turn.
    None,
    /// One: the turn ends with it.
    One,
    /// Any number.
    #[default]
    Any,
}

/// Settings of one turn, made by [`Self::of`].
#[non_exhaustive]
pub struct TurnSettings {
    /// Indices of the markers that come as tokens of their own: they end a string of a call's JSON
    /// ([`Request::token_markers`]).
    pub token_markers: Arc<[u32]>,
    /// Whether a marker that is a token is text all the same in a string of a call's JSON that
    /// plainly goes on behind it.
    pub reads_on: bool,
    /// How many tools the model may call.
    pub calls: AllowedCalls,
    /// What happens to calls inside reasoning.
    pub drafts: DraftCalls,
    /// Tools that the request declares.
    pub tools: Arc<[Tool]>,
    /// Whether the parser is asked about all text, also where it said `until-marker` or
    /// `until-byte`: for tests, since the items are the same.
    pub asks_always: bool,
    /// Whether the events tell where each byte went, too ([`TurnEvent::Routed`]).
    ///
    /// [`TurnEvent::Routed`]: crate::TurnEvent::Routed
    pub shows_routes: bool,
    /// Which white space at the ends of items is left out; `None` for what the parser says.
    pub trim: Option<Trim>,
    /// Strings that end the turn where they occur in a message.
    pub stop: StopStrings,
    /// What to do when the parser fails.
    pub fault_policy: FaultPolicy,
    /// Maximum number of bytes that the parser may leave undecided, and of white space that is held
    /// back for trimming.
    pub held_bytes: usize,
    /// Ids of tool calls.
    pub call_ids: CallIds,
}

impl TurnSettings {
    /// Default of [`Self::held_bytes`].
    pub const HELD_BYTES: usize = 1 << 20;

    /// Settings of a turn whose parser is told of this request; what the request doesn't say are
    /// defaults.
    pub fn of(request: &Request, call_ids: CallIds) -> Self {
        Self {
            token_markers: request.token_markers.as_slice().into(),
            reads_on: false,
            calls: AllowedCalls::Any,
            drafts: DraftCalls::of(&request.options).unwrap_or_default(),
            tools: Arc::clone(&request.tools),
            asks_always: false,
            shows_routes: false,
            trim: None,
            stop: StopStrings::default(),
            fault_policy: FaultPolicy::default(),
            held_bytes: Self::HELD_BYTES,
            call_ids,
        }
    }
}

impl std::fmt::Debug for TurnSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TurnSettings").field("tools", &self.tools).finish_non_exhaustive()
    }
}

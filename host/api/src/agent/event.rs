//! Events of an answer of several turns, in plain values. A call to a tool of the server isn't
//! among the turn's events: `ServerEvent`s report it, from its first byte on.

use mcp::McpTool;
use turn::TurnEvent;

/// An event of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerEvent {
    /// An event of the current turn.
    Turn(TurnEvent),
    /// An event of a tool of the server.
    Server(ServerEvent),
    /// An event of the conversation's compaction.
    Compaction(CompactionEvent),
}

/// A borrowed [`AnswerEvent`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AnswerEventRef<'a> {
    /// An event of the current turn.
    Turn(&'a TurnEvent),
    /// An event of a tool of the server.
    Server(&'a ServerEvent),
    /// An event of the conversation's compaction.
    Compaction(&'a CompactionEvent),
}

impl AnswerEvent {
    /// Borrows the event.
    pub fn as_ref(&self) -> AnswerEventRef<'_> {
        match self {
            Self::Turn(event) => AnswerEventRef::Turn(event),
            Self::Server(event) => AnswerEventRef::Server(event),
            Self::Compaction(event) => AnswerEventRef::Compaction(event),
        }
    }
}

/// Events of the server's tools. Between `CallBegun` and `CallWritten` only `CallText` of the same
/// call may come.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerEvent {
    /// The listing of a server's tools begins.
    ListBegun {
        /// Label of the server.
        server: String,
    },
    /// The listing has ended.
    ListEnded {
        /// Label of the server.
        server: String,
        /// The tools, or the error.
        tools: Result<Vec<McpTool>, String>,
    },
    /// The model begins to write a call.
    CallBegun {
        /// Id of the call in all later events.
        call_id: String,
        /// Tool that is called.
        called: Called,
    },
    /// The next part of the call's arguments; never empty.
    CallText {
        /// Id of the call.
        call_id: String,
        /// Text to append.
        delta: String,
    },
    /// The call's arguments are complete. The call runs now, unless the client must approve it
    /// first.
    CallWritten {
        /// Id of the call.
        call_id: String,
    },
    /// The model has searched for tools, and may call those that were found.
    Searched {
        /// The arguments of the search.
        arguments: String,
        /// JSON of the tools, as the client declared them.
        found: Vec<String>,
    },
    /// The call has run or can't run. For a call that was cut off, this event replaces
    /// `CallWritten`.
    CallEnded {
        /// Id of the call.
        call_id: String,
        /// The output, or the error.
        result: Result<String, String>,
    },
}

/// Events of a compaction, at most one in an answer, before all items that the model writes.
/// `Begun` comes first and `Ended` last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompactionEvent {
    /// The model begins to write.
    Begun,
    /// The summary has grown.
    Sampled,
    /// The compaction is over.
    Ended {
        /// The summary; `None` if none came of it.
        summary: Option<String>,
    },
}

/// A tool of the server that a call names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Called {
    /// Kind of the call, as the client sees it.
    pub kind: CallKind,
    /// Label of the tool's server.
    pub server: String,
    /// Name of the tool on its server.
    pub name: String,
    /// Whether the client approves the call.
    pub consent: Consent,
}

/// Kind of a call, as the client sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallKind {
    /// Call of a tool of an MCP server.
    Mcp,
    /// Web search; the arguments are an object.
    Search,
    /// Opening of a web page.
    OpenPage,
    /// Search for a text in a page.
    FindInPage,
    /// Execution of code.
    Code {
        /// Whether the arguments are the code itself; otherwise they are an object with the code in
        /// `code`.
        raw: bool,
    },
}

/// Approval of a call by the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Consent {
    /// The call needs no approval.
    NotNeeded,
    /// The client is being asked for approval; the call doesn't run in this answer.
    Asked,
    /// The client approved the request for approval with this id.
    Given(String),
}

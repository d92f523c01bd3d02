//! What happens in an answer of several turns, in plain values. A call by the model to a tool of the server isn't among the turn's
//! events: it is told by these, from its first byte on.

use crate::mcp::McpTool;
use crate::turn::TurnEvent;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq)]
pub enum RoundEvent {
    /// In the turn.
    Turn(TurnEvent),
    /// With a tool of the server.
    Server(ServerEvent),
}

/// A [`RoundEvent`] to look at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RoundEventRef<'a> {
    /// In the turn.
    Turn(&'a TurnEvent),
    /// With a tool of the server.
    Server(&'a ServerEvent),
}

impl RoundEvent {
    /// The event to look at.
    pub fn as_ref(&self) -> RoundEventRef<'_> {
        match self {
            Self::Turn(event) => RoundEventRef::Turn(event),
            Self::Server(event) => RoundEventRef::Server(event),
        }
    }
}

/// What happens with the server's tools. Between `CallBegun` and `CallWritten` comes nothing but `CallText` of that call.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerEvent {
    /// The tools of a server are being listed.
    ListBegun {
        /// Its label.
        server: String,
    },
    /// They are, or can't be.
    ListEnded {
        /// The server's label.
        server: String,
        /// The tools, or why there are none.
        tools: Result<Vec<McpTool>, String>,
    },
    /// A call begins to be written.
    CallBegun {
        /// Stands for the call from here on.
        call_id: String,
        /// What is called.
        called: Called,
    },
    /// More of its arguments; never empty.
    CallText {
        /// The call.
        call_id: String,
        /// The text.
        delta: String,
    },
    /// Its arguments are whole. It runs now, unless it must be asked for.
    CallWritten {
        /// The call.
        call_id: String,
    },
    /// It has run, or can't. For a call that was cut off, this comes in place of `CallWritten`.
    CallEnded {
        /// The call.
        call_id: String,
        /// The output, or what went wrong.
        result: Result<String, String>,
    },
}

/// A tool of the server, as a call names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Called {
    /// What it is to the client.
    pub kind: CallKind,
    /// Label of its server.
    pub server: String,
    /// Its name there.
    pub name: String,
    /// Whether the client was asked.
    pub consent: Consent,
}

/// What a call is to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallKind {
    /// A tool of an MCP server.
    Mcp,
    /// A search on the web; arguments are an object.
    Search,
    /// A page of the web that is opened.
    OpenPage,
    /// A text looked for in a page.
    FindInPage,
    /// Code that is run. `raw`: the arguments are the code, else an object with the code in `code`.
    Code {
        /// Whether there is no object around it.
        raw: bool,
    },
}

/// Whether the client was asked for a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Consent {
    /// It needn't be.
    NotNeeded,
    /// It is being asked: the call doesn't run in this answer.
    Asked,
    /// It agreed, to the request of this id.
    Given(String),
}

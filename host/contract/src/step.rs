//! What a parser answers: steps, and the operations in them.

use std::borrow::Cow;

/// Kind of a call's arguments, once decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// JSON text.
    Json,
    /// Plain text.
    Text,
}

/// Head of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// Name of the tool, without the format's own prefix; never empty.
    pub name: String,
    /// Kind of the arguments.
    pub payload: Payload,
    /// The model's own id of the call, where the contract's version has one
    /// (`wit/parser-0.2-draft`).
    pub id: Option<String>,
}

impl ToolCall {
    /// Head of a call without an id of the model's own.
    pub fn new(name: impl Into<String>, payload: Payload) -> Self {
        Self { name: name.into(), payload, id: None }
    }
}

/// Destination of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// Text of a message.
    Content,
    /// Text of a reasoning item.
    Reasoning,
    /// Arguments of the open call, as they are.
    Arguments,
    /// Arguments that become the inside of a JSON string.
    ArgumentsEscaped,
    /// Arguments that are the inside of a JSON string, decoded by the host.
    ArgumentsUnescaped,
    /// Text of the open parameter's value.
    Value,
    /// Markup.
    Drop,
}

/// Run: the next held bytes, and their route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Route of the bytes.
    pub route: Route,
    /// Number of bytes.
    pub bytes: u32,
}

/// Operation on the bytes that the host holds for this stream, oldest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Routes the next bytes; bytes that no run takes stay held.
    Bytes(Run),
    /// Routes all text up to the next marker, without asking the parser again.
    UntilMarker(Route),
    /// Closes the open item; content that follows is a new message of this phase: `commentary`,
    /// `final`, or empty.
    Message(Cow<'static, str>),
    /// Closes the open item and opens a tool call.
    ToolCall(ToolCall),
    /// Closes the open item, which is complete.
    Close,
    /// Argument text that the parser writes itself (bounded).
    DerivedArguments(String),
    /// Routes all text up to the next marker or the first of these bytes, without asking the parser
    /// again.
    UntilByte(Until),
    /// The model began a call and broke off before its name: if it ended the turn by itself, the
    /// turn fails.
    BrokenCall,
    /// Routes the rest of a JSON value, up to the bracket that closes it or a marker outside of its
    /// strings, without asking the parser again.
    UntilJson(JsonRest),
    /// Ends the open value and begins another one, which the host types, escapes and writes.
    Parameter(ParameterValue),
    /// Ends the open value.
    ParameterEnd,
    /// Holds the text that comes, up to the next marker, one of these bytes or a number of bytes,
    /// without asking the parser.
    HoldUntil(HoldUntil),
    /// Says something that isn't the text of an item.
    Note(Note),
}

/// How far text is held without asking the parser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HoldUntil {
    /// Up to four ASCII bytes, with 0 for each that there isn't.
    pub ends: [u8; 4],
    /// Maximum number of bytes that the parser hasn't seen, 1 to 512.
    pub at_most: u32,
}

/// How the text of a value is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reading {
    /// By the types that the tool's schema allows.
    #[default]
    Declared,
    /// As a string.
    Text,
    /// As JSON; what isn't JSON is read as declared.
    Json,
}

/// Step from a value to one inside it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Segment {
    /// Member of an object.
    Key(String),
    /// Item of a list, counted from 0 on.
    Item(u32),
    /// Member of an object or item of a list, whichever the value around it is, or the schema
    /// wants.
    Element {
        /// Key of the member.
        name: String,
        /// Index of the item, counted from 0 on.
        index: u32,
    },
}

/// A value in a call's arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParameterValue {
    /// Way to it from the outermost object.
    pub path: Vec<Segment>,
    /// How its text is read.
    pub reading: Reading,
}

/// Something that a host may know how to use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What it is: up to 64 lower-case letters, digits and `-`.
    pub name: String,
    /// Up to 4 KiB of text.
    pub data: String,
}

/// Route of the text up to the first of `bytes`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Until {
    /// Route of the text.
    pub route: Route,
    /// 1 to 16 ASCII characters.
    pub bytes: Cow<'static, str>,
}

/// Where the next byte of a JSON value stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InString {
    /// Outside of the value's strings.
    #[default]
    No,
    /// Inside a string.
    Yes,
    /// Behind a backslash inside a string.
    AfterBackslash,
}

impl InString {
    /// The place behind `byte`.
    #[inline]
    #[must_use]
    pub fn next(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Yes, b'"') => Self::No,
            (Self::Yes, b'\\') => Self::AfterBackslash,
            (Self::AfterBackslash, _) | (Self::No, b'"') => Self::Yes,
            (same, _) => same,
        }
    }
}

/// Route of the rest of a JSON object or list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonRest {
    /// Route of the rest.
    pub route: Route,
    /// Number of its brackets that are open, 1 or more.
    pub depth: u32,
    /// Whether a string is open, too.
    pub in_string: InString,
}

/// A parser's answer to one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Routes all held bytes where the last run went.
    Pass,
    /// Decides nothing yet; the bytes stay held.
    Hold,
    /// Operations, applied in order.
    Ops(Vec<Op>),
    /// The parser can't go on, for this reason.
    Fault(String),
    /// The op of this name alone.
    HoldUntil(HoldUntil),
}

/// Reason why the stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishReason {
    /// The model ended its turn (or a stop string was met).
    Stop,
    /// The token limit was reached.
    Length,
    /// The client went away or the server stops.
    Cancelled,
}

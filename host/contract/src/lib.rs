//! The contract between host and parser in plain Rust: the types of `wit/parser-0.1/parser.wit`,
//! under the same names, without Wasm.
//!
//! The WIT file gives the full meaning of each field and case. Hosts and parsers, their tests and
//! tools share these types: only the code at either side of the sandbox's wall knows others.
#![deny(missing_docs)]

mod descriptor;
pub mod json_text;
mod request;
mod step;
mod stream_parser;
mod types;

pub use descriptor::{Descriptor, Trim};
pub use request::{Parameter, Request, SCHEMAS, Tool, ToolKind};
pub use step::{
    FinishReason, HoldUntil, InString, JsonRest, Note, Op, ParameterValue, Payload, Reading, Route, Run,
    Segment, Step, ToolCall, Until,
};
pub use stream_parser::{Fault, ResourceUsage, SendParser, StreamParser};
pub use types::Types;

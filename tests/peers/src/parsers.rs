//! Adapters of the parsers, one file each. Their `start` returns `None` for a format that the
//! parser doesn't know.

mod dynamo;
mod dynamo_v2;
mod harmony;
mod ours;
mod smg;
mod symphony;

use serde_json::{Value, json};

pub(crate) use harmony::{encode, find_vocabulary};
pub(crate) use ours::markers;

use crate::stream::Start;

/// Name of the tool that every stream declares and calls.
pub(crate) const TOOL: &str = "tool";

/// JSON schema of the tool's arguments.
pub(crate) fn parameters() -> Value {
    json!({"type": "object", "properties": {
        "x": {"type": "string"}, "n": {"type": "array"}, "flag": {"type": "boolean"}
    }})
}

/// Name of a parser, and the function that prepares its streams of a format.
pub(crate) type Parser = (&'static str, fn(&str) -> Option<Start>);

/// All parsers, ours first.
pub(crate) const ALL: [Parser; 6] = [
    ("sluice (sandboxed)", ours::start),
    ("smg-symphony", self::symphony::start),
    ("tool- + reasoning-parser", smg::start),
    ("dynamo-parsers (v1)", dynamo::start),
    ("dynamo-parsers-v2", dynamo_v2::start),
    ("openai-harmony", harmony::start),
];

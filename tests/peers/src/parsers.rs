//! All parsers, and which of theirs each project has for a format. Their `start` returns `None` for a format that the project doesn't know.

mod adapters;
mod ours;

use readers::{Names, Opening, PROJECTS, Request, Tool};
use serde_json::{Value, json};

pub(crate) use ours::markers;

use crate::stream::{Cut, Start};

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

/// All parsers, ours first, then ours behind the other projects' traits.
pub(crate) const ALL: [Parser; 8] = [
    ("sluice (sandboxed)", ours::start),
    ("  as symphony's parser", adapters::symphony),
    ("  as dynamo's parser", adapters::dynamo),
    ("smg-symphony", |format| project("symphony", format)),
    ("tool- + reasoning-parser", |format| project("smg", format)),
    ("dynamo-parsers (v1)", |format| project("dynamo", format)),
    ("dynamo-parsers-v2", |format| project("dynamo-v2", format)),
    ("openai-harmony", harmony),
];

/// Project, format, and the names of the project's parsers of calls and of reasoning.
const NAMES: [(&str, &str, &str, Option<&str>); 12] = [
    ("symphony", "qwen3", "qwen3", None),
    ("symphony", "qwen3-coder", "qwen3_tagged", None),
    ("smg", "qwen3", "qwen", Some("qwen3")),
    ("smg", "qwen3-coder", "qwen_coder", Some("qwen3")),
    ("smg", "kimi-k2", "kimik2", Some("kimi_k25")),
    ("dynamo", "qwen3", "hermes", Some("qwen3")),
    ("dynamo", "qwen3-coder", "qwen3_coder", Some("qwen3")),
    ("dynamo", "kimi-k2", "kimi_k2", Some("kimi_k25")),
    ("dynamo", "harmony", "harmony", Some("gpt_oss")),
    ("dynamo-v2", "qwen3-coder", "qwen3_coder", None),
    ("dynamo-v2", "kimi-k2", "kimi_k2", None),
    ("dynamo-v2", "harmony", "gpt_oss", None),
];

fn project(project: &'static str, format: &str) -> Option<Start> {
    let (_, _, calls, reasoning) = NAMES.iter().find(|row| (row.0, row.1) == (project, format))?;
    let names = Names { calls: Some((*calls).to_owned()), reasoning: reasoning.map(str::to_owned) };
    let (_, start) = PROJECTS.iter().find(|row| row.0 == project)?;
    let begin = move |cut| {
        let request = Request {
            tools: vec![Tool { name: TOOL.to_owned(), parameters: parameters() }],
            prompt: "<|im_start|>assistant\n".to_owned(),
            opening: opening(project, calls, cut),
            thinks: true,
        };
        start(&names, &request)
    };
    // Without the vocabulary it starts none.
    begin(Cut::Tokens)?;
    Some(Box::new(begin))
}

/// What the prompt leaves open: a stream that is measured has no reasoning, and one that is checked begins with the marker of reasoning.
fn opening(project: &str, calls: &str, cut: Cut) -> Opening {
    match (project, calls) {
        // The parser assumes that Kimi's prompt opens the reasoning.
        ("dynamo", "kimi_k2") => Opening::Answer,
        ("dynamo-v2", "qwen3_coder" | "kimi_k2") if cut == Cut::Tokens => Opening::Answer,
        _ => Opening::Nothing,
    }
}

fn harmony(format: &str) -> Option<Start> {
    let known = format == "harmony" && readers::harmony::available();
    known.then(|| Box::new(|cut| (cut == Cut::Tokens).then(readers::harmony::start).flatten()) as Start)
}

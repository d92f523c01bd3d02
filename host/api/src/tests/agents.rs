//! Requests of real agents, and how they are read: `testdata/agents/*.json`, with one golden for
//! all (`UPDATE_EXPECT=1` rewrites it).
//!
//! `tests/agents/bodies.py` makes the files from recorded requests; each file has an agent's
//! fields, items and schemas, and a tool's result in the history. No request of an agent may be
//! refused.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use super::goldens::compare;
use super::job;
use crate::request::ReadRequest;
use crate::{chat, messages, responses};
use model::Job;
use prompt::ChatMessage;

/// Name, protocol and body of each file.
fn bodies() -> Vec<(String, ReadRequest, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/testdata/agents");
    let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        files.filter(|file| file.extension().is_some_and(|kind| kind == "json")).collect();
    files.sort();
    files.iter().map(|file| read(file)).collect()
}

fn read(file: &Path) -> (String, ReadRequest, Value) {
    let mut request: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
    let read: ReadRequest = match request["path"].as_str().unwrap().split('?').next().unwrap() {
        "/v1/responses" => responses::read,
        "/v1/chat/completions" => chat::read,
        "/v1/messages" => messages::read,
        other => panic!("{name}: no protocol at {other}"),
    };
    (name, read, request["body"].take())
}

/// A request as the model sees it, a line per message.
fn understood(name: &str, job: &Job, warnings: &[String]) -> String {
    let mut out = format!("== {name}\n");
    for message in &job.conversation.messages {
        line(&mut out, message);
    }
    let tools: Vec<String> = job
        .demand
        .tools
        .iter()
        .map(|tool| format!("{} ({:?})", tool.name, tool.kind).to_lowercase())
        .collect();
    writeln!(out, "tools: {}", tools.join(", ")).unwrap();
    for warning in warnings {
        writeln!(out, "warning: {warning}").unwrap();
    }
    out
}

fn line(out: &mut String, message: &ChatMessage) {
    write!(out, "{:?}", message.role).unwrap();
    if let Some(reasoning) = &message.reasoning {
        write!(out, ", having thought {reasoning:?}").unwrap();
    }
    if let Some(id) = &message.tool_call_id {
        write!(out, " {} for {id}", message.name.as_deref().unwrap_or("?")).unwrap();
    }
    write!(out, ": {:?}", message.content).unwrap();
    for call in &message.tool_calls {
        write!(out, ", calls {} as {} with {}", call.name, call.id, call.arguments).unwrap();
    }
    out.push('\n');
}

#[test]
fn what_agents_send_is_understood() {
    let bodies = bodies();
    assert!(bodies.len() > 10, "only {} bodies", bodies.len());
    let sections = bodies.iter().map(|(name, read, body)| {
        let (job, warnings) = job(*read, body);
        understood(name, &job, &warnings)
    });
    compare("agents/understood.txt", &sections.collect::<Vec<_>>().join("\n"));
}

//! `host parser template diff`: has transformers itself, in a Python of the user's, read the same
//! turns, and prints what it makes of them otherwise. Exit status 0: all alike; 1: some differ; 2: it
//! can't be compared.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, ensure};
use parser_kit::case::{CaseItem, CaseStatus};
use parsers::conformance::{Recording, play_case};
use serde::Deserialize;
use serde_json::{Value, json};

use super::given::GivenArguments;
use crate::cli::parser::paint::{BAD, BOLD, DIM, painted};

const SCRIPT: &str = include_str!("read_responses.py");
/// Keys under which a message has its reasoning.
const REASONING: [&str; 3] = ["reasoning_content", "reasoning", "thinking"];

#[derive(clap::Args)]
pub(super) struct DiffArguments {
    #[command(flatten)]
    given: GivenArguments,
    /// Python that has transformers 5.13 or newer.
    #[arg(long, value_name = "FILE", default_value = "python3")]
    python: PathBuf,
}

/// What transformers made of a turn.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Answer {
    Version(String),
    Message(Value),
    Error(String),
}

pub(super) fn run(arguments: &DiffArguments) -> anyhow::Result<ExitCode> {
    let given = &arguments.given;
    let template = given.find()?;
    let reader = given.reader()?;
    let (origin, cases) = given.cases(&template, &reader)?;
    let turns: Vec<Value> = cases.iter().map(|case| turn(case.raw())).collect();
    let answers = arguments.ask(&json!({ "template": template.value()?, "turns": turns }))?;
    let Some((Answer::Version(version), answers)) = answers.split_first() else {
        anyhow::bail!("--python: no answer from transformers");
    };
    ensure!(answers.len() == cases.len(), "--python: {} answers to {} turns", answers.len(), cases.len());
    let mut out = anstream::AutoStream::auto(std::io::stdout().lock());
    let mut alike = 0;
    for ((case, turn), answer) in cases.iter().zip(&turns).zip(answers) {
        let here = read_here(case)?;
        let there = match answer {
            Answer::Message(message) => read_there(message),
            Answer::Error(error) => json!({ "error": error }),
            Answer::Version(_) => anyhow::bail!("--python: an answer that is none"),
        };
        if here == there {
            alike += 1;
            continue;
        }
        writeln!(out, "{} {}", painted(BAD, "differs"), case.name())?;
        writeln!(out, "  output       {}", painted(DIM, &turn["output"]))?;
        writeln!(out, "  transformers {there}\n  here         {here}")?;
    }
    let (name, all) = (painted(BOLD, &template.name), cases.len());
    writeln!(out, "{name}: {alike} of {all} {} alike in transformers {version}", origin.words())?;
    Ok(if alike == all { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl DiffArguments {
    /// What the script answers, line by line.
    fn ask(&self, question: &Value) -> anyhow::Result<Vec<Answer>> {
        let place = || format!("--python {}", self.python.display());
        let mut python = Command::new(&self.python);
        python.args(["-c", SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut python = python.spawn().with_context(place)?;
        let mut stdin = python.stdin.take().expect("it is piped");
        let question = question.to_string();
        // Written beside the reading, as either pipe may fill.
        let writer = std::thread::spawn(move || stdin.write_all(question.as_bytes()));
        let output = python.wait_with_output().with_context(place)?;
        let written = writer.join().expect("it doesn't panic");
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr);
            anyhow::bail!("{}: {}", place(), words.lines().last().unwrap_or("it failed"));
        }
        written.with_context(place)?;
        let lines = String::from_utf8(output.stdout).with_context(place)?;
        lines.lines().map(|line| serde_json::from_str(line).with_context(place)).collect()
    }
}

/// A case as the script reads it.
fn turn(case: &Value) -> Value {
    let text = |chunk: &Value| chunk["text"].as_str().or(chunk.as_str()).unwrap_or_default().to_owned();
    let output: String = case["chunks"].as_array().into_iter().flatten().map(text).collect();
    let tool = |tool: &Value| match tool.as_str() {
        Some(name) => json!({ "name": name, "parameters": {} }),
        None => json!({ "name": tool["name"], "parameters": tool["parameters"] }),
    };
    let tools: Vec<Value> = case["tools"].as_array().into_iter().flatten().map(tool).collect();
    json!({ "prompt": case["generation_prompt"].as_str().unwrap_or_default(), "output": output, "tools": tools })
}

/// Reasoning, text and calls as the parser reads them. Several texts of a kind are lines.
fn read_here(case: &Recording) -> anyhow::Result<Value> {
    let items = play_case(case).items.map_err(|error| anyhow::anyhow!("{}: {error}", case.name()))?;
    let [mut reasoning, mut content, mut calls] = <[Vec<Value>; 3]>::default();
    for item in &items {
        match item {
            CaseItem::Reasoning { text, .. } => reasoning.push(json!(text)),
            CaseItem::Message { text, .. } => content.push(json!(text)),
            CaseItem::ToolCall { name, arguments, status, .. } => {
                let arguments = serde_json::from_str(arguments).unwrap_or_else(|_| json!(arguments));
                let mut call = json!({ "name": name, "arguments": arguments });
                if *status == CaseStatus::Incomplete {
                    call["status"] = json!("incomplete");
                }
                calls.push(call);
            }
        }
    }
    Ok(reading(&reasoning, &content, &calls))
}

/// The same of a message of transformers'.
fn read_there(message: &Value) -> Value {
    let text = |key: &str| message.get(key).filter(|text| **text != json!("")).cloned();
    let calls = match &message["tool_calls"] {
        Value::Array(calls) => calls.clone(),
        Value::Null => Vec::new(),
        call => vec![call.clone()],
    };
    let calls = calls.iter().map(|call| &call["function"]);
    let calls: Vec<Value> =
        calls.map(|call| json!({ "name": call["name"], "arguments": call["arguments"] })).collect();
    let reasoning: Vec<Value> = REASONING.into_iter().find_map(text).into_iter().collect();
    let content: Vec<Value> = text("content").into_iter().collect();
    reading(&reasoning, &content, &calls)
}

fn reading(reasoning: &[Value], content: &[Value], calls: &[Value]) -> Value {
    let lines = |texts: &[Value]| {
        let lines: Vec<String> =
            texts.iter().map(|text| text.as_str().map_or_else(|| text.to_string(), str::to_owned)).collect();
        lines.join("\n")
    };
    json!({ "reasoning": lines(reasoning), "content": lines(content), "calls": calls })
}

//! `host parser trace FILE`: shows one turn step by step, in colour.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use api::{Protocol, case_stream};
use contract::{HoldUntil, InString, JsonRest, Note, Op, ParameterValue, Run, Segment, Step, Until};
use parsers::conformance::{self, CallInput, Measures, Outcome, ParserCall, Recording, TracedStep};
use serde_json::{Value, json};
use turn::{ItemHead, TurnEvent};

use super::paint::{BAD, BOLD, DIM, EVENT, OP, TEXT, painted};
use super::source::ParserArguments;
use crate::cli::settings_file;

#[derive(clap::Args)]
pub(super) struct TraceArguments {
    #[command(flatten)]
    parser: ParserArguments,
    /// File of the model's raw output.
    #[arg(long, value_name = "RAW.txt", required_unless_present = "case")]
    input: Option<PathBuf>,
    /// File of a case, with its own chunks, in place of `--input`.
    #[arg(long, value_name = "CASE.json", conflicts_with_all = ["input", "tools", "step", "option", "generation_prompt", "finish"])]
    case: Option<PathBuf>,
    /// File of the tools that the request declares, in the format of a case.
    #[arg(long, value_name = "TOOLS.json")]
    tools: Option<PathBuf>,
    /// Characters of each delta.
    #[arg(long, value_name = "N", default_value = "4", value_parser = crate::cli::values::number::<u16>(1..=65_535))]
    step: u16,
    /// Setting that is passed to the parser (repeatable).
    #[arg(long, value_name = "KEY=VALUE", value_parser = crate::cli::values::key_value)]
    option: Vec<(String, String)>,
    /// Generation prompt: the text by which the chat template opens the turn.
    #[arg(long, value_name = "TEXT", default_value = "")]
    generation_prompt: String,
    /// Finish reason of the turn.
    #[arg(long, value_parser = ["stop", "length"], default_value = "stop")]
    finish: String,
    /// Print the events of this protocol too.
    #[arg(long, value_parser = crate::cli::values::protocol())]
    events: Option<Protocol>,
}

pub(super) fn run(arguments: &TraceArguments) -> anyhow::Result<ExitCode> {
    let parsers = arguments.parser.load(Measures::Nothing)?;
    let recording = match (&arguments.case, &arguments.input) {
        (Some(case), _) => Recording::load(case, &parsers),
        (None, Some(input)) => Recording::parse("input", &as_case(arguments, input)?.to_string(), &parsers),
        (None, None) => unreachable!("one of them is required"),
    };
    let recording = recording.map_err(anyhow::Error::msg)?;
    let (steps, outcome) = conformance::trace(&recording);
    let parts = steps.iter().map(|step| &step.events[..]);
    let frames = arguments.events.map(|protocol| case_stream::frames_of_parts(protocol, parts, &outcome.end));
    let mut out = anstream::AutoStream::auto(std::io::stdout().lock());
    let last = steps.len().saturating_sub(1);
    for (number, step) in steps.iter().enumerate() {
        let name = match number {
            0 => "prompt".to_owned(),
            _ if number == last => "end".to_owned(),
            _ => number.to_string(),
        };
        show(&name, step, recording.markers(), &mut out)?;
        for frame in frames.iter().flat_map(|frames| &frames[number]) {
            writeln!(out, "         {}", painted(DIM, frame))?;
        }
    }
    summary(&outcome, &mut out)?;
    Ok(if outcome.fault.is_none() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Makes a case from the options, without `expect`.
fn as_case(arguments: &TraceArguments, input: &Path) -> anyhow::Result<Value> {
    let text = settings_file::read("--input", input)?;
    let tools = match &arguments.tools {
        None => json!([]),
        Some(file) => {
            let text = settings_file::read("--tools", file)?;
            serde_json::from_str(&text).with_context(|| format!("--tools {}", file.display()))?
        }
    };
    let characters: Vec<char> = text.chars().collect();
    let chunks: Vec<String> =
        characters.chunks(usize::from(arguments.step)).map(|chunk| chunk.iter().collect()).collect();
    let options: serde_json::Map<String, Value> =
        arguments.option.iter().map(|(key, value)| (key.clone(), value.as_str().into())).collect();
    Ok(json!({
        "tools": tools,
        "options": options,
        "generation_prompt": arguments.generation_prompt,
        "chunks": chunks,
        "finish": arguments.finish,
    }))
}

fn show(name: &str, step: &TracedStep, markers: &[String], out: &mut impl Write) -> anyhow::Result<()> {
    let came = step.came.iter().map(|(id, text)| match id {
        Some(_) => painted(TEXT.bold(), visible(text)),
        None => painted(TEXT, visible(text)),
    });
    writeln!(out, "{} {}", painted(BOLD, format_args!("{name:>6}")), came.collect::<Vec<_>>().join(" "))?;
    if step.calls.is_empty() && !step.came.is_empty() && step.events.is_empty() {
        writeln!(out, "         {}", painted(DIM, "held back, or going where an until sends it"))?;
    }
    for ParserCall { input, answer } in &step.calls {
        let input = match input {
            CallInput::Text(text) => format!("text «{}»", visible(text)),
            CallInput::Marker(index) => {
                let literal = markers.get(*index as usize).map_or("?", String::as_str);
                format!("marker {index} «{}»", visible(literal))
            }
            CallInput::Finish(reason) => format!("finish {reason:?}"),
        };
        let answer = match answer {
            Ok(step) => painted(OP, step_words(step)),
            Err(fault) => painted(BAD, &fault.reason),
        };
        writeln!(out, "         {input} -> {answer}")?;
    }
    for event in &step.events {
        writeln!(out, "         {}", painted(EVENT, event_words(event)))?;
    }
    Ok(())
}

/// Text on one line: control characters are escaped, quotes are not.
fn visible(text: &str) -> String {
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(escaped).collect()
}

fn step_words(step: &Step) -> String {
    match step {
        Step::Pass => "pass".to_owned(),
        Step::Hold => "hold".to_owned(),
        Step::HoldUntil(hold) => hold_words(*hold),
        Step::Fault(words) => format!("fault: {words}"),
        Step::Ops(ops) => ops.iter().map(op_words).collect::<Vec<_>>().join(", "),
    }
}

fn hold_words(HoldUntil { ends, at_most }: HoldUntil) -> String {
    let ends: String = ends.iter().filter(|byte| **byte != 0).map(|byte| char::from(*byte)).collect();
    format!("held until one of «{}», the next marker or {at_most} bytes", visible(&ends))
}

fn op_words(op: &Op) -> String {
    match op {
        Op::Bytes(Run { route, bytes }) => format!("{bytes} bytes to {route:?}"),
        Op::UntilMarker(route) => format!("until the next marker to {route:?}"),
        Op::UntilByte(Until { route, bytes }) => {
            format!("until one of «{}» or the next marker to {route:?}", visible(bytes))
        }
        Op::UntilJson(JsonRest { route, depth, in_string }) => {
            let string = if *in_string == InString::No { "" } else { " and a string" };
            format!("until {depth} brackets{string} of JSON are closed, to {route:?}")
        }
        Op::Message(phase) if phase.is_empty() => "message".to_owned(),
        Op::Message(phase) => format!("message of phase «{}»", visible(phase)),
        Op::ToolCall(call) => format!("call of {:?} with {:?}", call.name, call.payload),
        Op::Close => "close".to_owned(),
        Op::BrokenCall => "a call broke off before its name".to_owned(),
        Op::DerivedArguments(text) => format!("arguments «{}» of its own", visible(text)),
        Op::Parameter(ParameterValue { path, reading }) => {
            let path: Vec<String> = path.iter().map(segment_words).collect();
            format!("parameter {}, read as {reading:?}", path.join(" / "))
        }
        Op::ParameterEnd => "the parameter ends".to_owned(),
        Op::HoldUntil(hold) => hold_words(*hold),
        Op::Note(Note { name, data }) => format!("note {} «{}»", visible(name), visible(data)),
    }
}

fn segment_words(segment: &Segment) -> String {
    match segment {
        Segment::Key(key) => format!("«{}»", visible(key)),
        Segment::Item(index) => format!("item {index}"),
        Segment::Element { name, index } => format!("«{}» or item {index}", visible(name)),
    }
}

fn event_words(event: &TurnEvent) -> String {
    match event {
        TurnEvent::Open(ItemHead::Reasoning) => "reasoning begins".to_owned(),
        TurnEvent::Open(ItemHead::Message { phase }) => format!("message begins, phase {phase:?}"),
        TurnEvent::Open(ItemHead::ToolCall { name, payload, .. }) => {
            format!("call of {name:?} begins, {payload:?}")
        }
        TurnEvent::Text(text) => format!("+ «{}»", visible(text)),
        TurnEvent::Close(status) => format!("ends {status:?}"),
        other => format!("{other:?}"),
    }
}

fn summary(outcome: &Outcome, out: &mut impl Write) -> anyhow::Result<()> {
    writeln!(out, "{}", painted(BOLD, format_args!("  items, the response ends {}", json!(outcome.end()))))?;
    for item in outcome.items.as_ref().map_err(|error| anyhow::anyhow!("{error}"))? {
        writeln!(out, "         {}", json!(item))?;
    }
    for why in outcome.why() {
        writeln!(out, "         {}", painted(BAD, visible(&why)))?;
    }
    Ok(())
}

//! `host stream lint FILE…`: names everything in a recorded stream that breaks the rules of its
//! protocol.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use api::Protocol;
use api::stream_check::{MOST_VIOLATIONS, Rule, StreamCheck, Violation, protocol_of};
use net::printable::Escaped;
use serde_json::{Value, json};

use system::bounded;

/// Largest stream that is checked, in bytes.
const MAX_BYTES: u64 = 128 << 20;

#[derive(clap::Args)]
pub(super) struct LintArguments {
    /// File of the recorded stream; `-` is standard input. Of a stream that broke off and was resumed
    /// several, in their order; an event that is cut off at the end of one is left out.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Protocol that the stream must have [default: the one that it has].
    #[arg(long, value_parser = super::values::protocol())]
    protocol: Option<Protocol>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What breaks a rule, in a line of this file.
struct Found<'a> {
    file: &'a Path,
    violation: Violation,
}

pub(super) fn run(arguments: &LintArguments) -> anyhow::Result<ExitCode> {
    let parts = parts(&arguments.files)?;
    let found = parts.iter().find_map(|(_, bytes)| protocol_of(bytes));
    let Some(protocol) = arguments.protocol.or(found) else {
        bail!(
            "{}: no event of a stream of Responses, Chat Completions, Completions or Messages: record the body of a \
             streamed answer (curl -N), or name its --protocol",
            arguments.files[0].display()
        );
    };
    let (violations, events) = if let Some(other) = found.filter(|found| *found != protocol) {
        let violation = of_another_protocol(other, protocol);
        (vec![Found { file: &arguments.files[0], violation }], 0)
    } else {
        check(&parts, protocol)
    };
    print(&arguments.files, protocol, events, &violations, arguments.json)?;
    Ok(if violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Checks the parts as one stream; also returns the number of its events.
fn check<'a>(parts: &[(&'a Path, Vec<u8>)], protocol: Protocol) -> (Vec<Found<'a>>, u64) {
    let mut check = StreamCheck::new(protocol);
    let (mut violations, mut lines) = (Vec::new(), 0);
    for (index, (file, bytes)) in parts.iter().enumerate() {
        let mut found = check.read(bytes);
        // Beyond so many the rest isn't looked at.
        let is_full = violations.len() + found.len() >= MOST_VIOLATIONS;
        if index + 1 == parts.len() && !is_full {
            found.extend(check.missing());
        }
        violations.extend(found.into_iter().map(|violation| {
            let line = violation.line.saturating_sub(lines).max(1);
            Found { file, violation: Violation { line, ..violation } }
        }));
        if is_full {
            break;
        }
        lines += bytes.split(|byte| *byte == b'\n').count() - 1;
    }
    (violations, check.events())
}

fn print(
    files: &[PathBuf],
    protocol: Protocol,
    events: u64,
    violations: &[Found<'_>],
    as_json: bool,
) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let name = files.iter().map(|file| file.to_string_lossy()).collect::<Vec<_>>().join(" ");
    if as_json {
        let violations: Vec<Value> = violations.iter().map(Found::to_json).collect::<Result<_, _>>()?;
        let report = json!({
            "file": name, "protocol": protocol.word(), "events": events, "violations": violations,
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
        return Ok(());
    }
    let protocol = protocol.name();
    if violations.is_empty() {
        writeln!(out, "{name}: a whole and well-formed stream of {protocol}, {events} events")?;
        return Ok(());
    }
    for Found { file, violation } in violations {
        let Violation { line, expected, .. } = violation;
        writeln!(out, "{}:{line}: {}; expected: {expected}", file.display(), Escaped(violation))?;
    }
    let rest = if violations.len() < MOST_VIOLATIONS { "" } else { "; the rest was not checked" };
    writeln!(out, "{name}: {} violations in {events} events of {protocol}{rest}", violations.len())?;
    Ok(())
}

impl Found<'_> {
    fn to_json(&self) -> serde_json::Result<Value> {
        let mut violation = serde_json::to_value(&self.violation)?;
        violation["file"] = self.file.to_string_lossy().into();
        Ok(violation)
    }
}

fn of_another_protocol(found: Protocol, wanted: Protocol) -> Violation {
    let what = format!(
        "this is a stream of {}, not of {}: give --protocol {} or none",
        found.name(),
        wanted.name(),
        found.word()
    );
    let rule = Rule::Vocabulary;
    Violation { line: 1, event: 0, kind: String::new(), rule, what, expected: rule.expected() }
}

/// Reads the parts of a stream: of each but the last the events that are whole.
fn parts(files: &[PathBuf]) -> anyhow::Result<Vec<(&Path, Vec<u8>)>> {
    let mut parts = Vec::new();
    for (index, file) in files.iter().enumerate() {
        let mut bytes = read(file)?;
        if index + 1 < files.len() {
            let end = bytes.windows(2).rposition(|pair| pair == b"\n\n").map_or(0, |at| at + 2);
            bytes.truncate(end);
        }
        parts.push((file.as_path(), bytes));
    }
    Ok(parts)
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    if file.as_os_str() == "-" {
        return bounded::bytes(std::io::stdin().lock(), MAX_BYTES).context("standard input");
    }
    File::open(file)
        .and_then(|opened| bounded::bytes(opened, MAX_BYTES))
        .with_context(|| file.display().to_string())
}

//! `host stream lint FILE`: names everything in a recorded stream that breaks the rules of its
//! protocol.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use api::Protocol;
use api::stream_check::{MOST_VIOLATIONS, Rule, StreamCheck, Violation, protocol_of};
use net::printable::Escaped;
use serde_json::json;

use system::bounded;

/// Largest stream that is checked, in bytes.
const MAX_BYTES: u64 = 128 << 20;

#[derive(clap::Args)]
pub(super) struct LintArguments {
    /// File of the recorded stream; `-` is standard input.
    file: PathBuf,
    /// Protocol that the stream must have [default: the one that it has].
    #[arg(long, value_parser = super::values::protocol())]
    protocol: Option<Protocol>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &LintArguments) -> anyhow::Result<ExitCode> {
    let bytes = read(&arguments.file)?;
    let file = arguments.file.display();
    let found = protocol_of(&bytes);
    let Some(protocol) = arguments.protocol.or(found) else {
        bail!(
            "{file}: no event of a stream of Responses, Chat Completions, Completions or Messages: record the body of a \
             streamed answer (curl -N), or name its --protocol"
        );
    };
    let (violations, events) = if let Some(other) = found.filter(|found| *found != protocol) {
        (vec![of_another_protocol(other, protocol)], 0)
    } else {
        let mut check = StreamCheck::new(protocol);
        let mut violations = check.read(&bytes);
        // Beyond so many the rest wasn't looked at.
        if violations.len() < MOST_VIOLATIONS {
            violations.extend(check.missing());
        }
        (violations, check.events())
    };
    print(&arguments.file, protocol, events, &violations, arguments.json)?;
    Ok(if violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print(
    file: &Path,
    protocol: Protocol,
    events: u64,
    violations: &[Violation],
    as_json: bool,
) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if as_json {
        let report = json!({
            "file": file.to_string_lossy(), "protocol": protocol.word(), "events": events, "violations": violations,
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
        return Ok(());
    }
    let (file, protocol) = (file.display(), protocol.name());
    if violations.is_empty() {
        writeln!(out, "{file}: a whole and well-formed stream of {protocol}, {events} events")?;
        return Ok(());
    }
    for violation in violations {
        let Violation { line, expected, .. } = violation;
        writeln!(out, "{file}:{line}: {}; expected: {expected}", Escaped(violation))?;
    }
    let rest = if violations.len() < MOST_VIOLATIONS { "" } else { "; the rest was not checked" };
    writeln!(out, "{file}: {} violations in {events} events of {protocol}{rest}", violations.len())?;
    Ok(())
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

fn read(file: &PathBuf) -> anyhow::Result<Vec<u8>> {
    if file.as_os_str() == "-" {
        return bounded::bytes(std::io::stdin().lock(), MAX_BYTES).context("standard input");
    }
    File::open(file)
        .and_then(|opened| bounded::bytes(opened, MAX_BYTES))
        .with_context(|| file.display().to_string())
}

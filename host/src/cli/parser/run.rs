//! `host parser run FILE --case CASE.json…`: prints the items of cases as JSON, in the words of the
//! case format.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use api::{Protocol, case_stream};
use parsers::conformance::{self, Measures, ParserSource, Recording};
use serde_json::{Value, json};

use super::source::ParserArguments;

#[derive(clap::Args)]
pub(super) struct RunArguments {
    #[command(flatten)]
    parser: ParserArguments,
    /// Files of the cases (repeatable); expected items may be missing. The result of one case is
    /// printed as an object, of several as one object per line with the file's name in `case`.
    #[arg(long, value_name = "CASE.json", num_args = 1.., required = true)]
    case: Vec<PathBuf>,
    /// Print the events of this protocol too.
    #[arg(long, value_parser = crate::cli::values::protocol())]
    events: Option<Protocol>,
}

pub(super) fn run(arguments: &RunArguments) -> anyhow::Result<ExitCode> {
    let source = arguments.parser.load(Measures::Nothing)?;
    let mut out = std::io::stdout().lock();
    let mut passed = true;
    for file in &arguments.case {
        let played = play(file, &source, arguments.events);
        passed &= matches!(&played, Ok(printed) if printed.get("fault").is_none());
        if let [_] = arguments.case.as_slice() {
            writeln!(out, "{}", serde_json::to_string_pretty(&played.map_err(anyhow::Error::msg)?)?)?;
        } else {
            let mut line = played.unwrap_or_else(|error| json!({ "error": error }));
            line["case"] = file.to_string_lossy().into();
            writeln!(out, "{line}")?;
        }
    }
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Plays one case; the result as JSON.
fn play(file: &Path, source: &dyn ParserSource, events: Option<Protocol>) -> Result<Value, String> {
    let recording = Recording::load(file, source)?;
    let outcome = conformance::play_case(&recording);
    let items = outcome.items.as_ref().map_err(ToString::to_string)?;
    let mut printed = json!({ "items": items, "end": outcome.end() });
    if let Some(fault) = &outcome.fault {
        printed["fault"] = fault.in_full().into();
    }
    let why = outcome.why();
    if !why.is_empty() {
        printed["why"] = why.into();
    }
    if let Some(protocol) = events {
        let stream = case_stream::stream(protocol, &outcome.events, &outcome.end);
        printed["events"] = case_stream::as_values(&stream).into();
    }
    Ok(printed)
}

//! `host parser test FILE`: checks every property over a folder of cases; prints a table or JSON.
//! Exit status 1 if a property fails.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use api::{Protocol, case_stream};
use parsers::conformance::{self, Failure, Finding, Measures, Recording, Report};

use super::paint::{BAD, BOLD, DIM, GOOD, painted};
use super::source::ParserArguments;

#[derive(clap::Args)]
pub(super) struct TestArguments {
    #[command(flatten)]
    parser: ParserArguments,
    /// Folder of the cases [default: the folder `cases` beside the parser's sources].
    #[arg(long, value_name = "DIR")]
    cases: Option<PathBuf>,
    /// Run only the cases with these names.
    #[arg(long, value_name = "NAME", num_args = 1..)]
    case: Vec<String>,
    /// Print the report as JSON.
    #[arg(long)]
    json: bool,
    /// Seed of the random chunkings.
    #[arg(long, value_name = "N", default_value = "1", value_parser = crate::cli::values::number::<u64>(0..=u64::MAX))]
    seed: u64,
    /// Instead of testing, print this case as a Responses and a Chat Completions stream.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["case", "json"])]
    show: Option<String>,
}

pub(super) fn run(arguments: &TestArguments) -> anyhow::Result<ExitCode> {
    let parsers = arguments.parser.load(Measures::Resources)?;
    let files = arguments.parser.case_files(arguments.cases.as_deref())?;
    let mut out = anstream::AutoStream::auto(std::io::stdout().lock());
    if let Some(name) = &arguments.show {
        let file = chosen(files, std::slice::from_ref(name))?.remove(0);
        return show(&Recording::load(&file, &parsers).map_err(anyhow::Error::msg)?, &mut out);
    }
    let files = chosen(files, &arguments.case)?;
    let report = conformance::test(&files, &parsers, arguments.seed).map_err(anyhow::Error::msg)?;
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
    } else {
        table(&report, &mut out)?;
    }
    Ok(if report.passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Files of the cases `names`, or all files if it is empty.
fn chosen(files: Vec<PathBuf>, names: &[String]) -> anyhow::Result<Vec<PathBuf>> {
    let is = |file: &PathBuf, name: &String| file.file_stem().is_some_and(|stem| stem == name.as_str());
    if let Some(name) = names.iter().find(|name| !files.iter().any(|file| is(file, name))) {
        bail!("no case {name} among {} case files", files.len());
    }
    let wanted = |file: &PathBuf| names.is_empty() || names.iter().any(|name| is(file, name));
    Ok(files.into_iter().filter(wanted).collect())
}

/// What a trap of a component leaves open: the message of a panic stays inside.
const PANICKED: &str = "A panic ends a component with `unreachable`, without its message. In the parser's crate, `cargo test` plays the \
                        same cases natively, and shows the message and the line.";

/// Prints one line for each property, then the failures.
pub(super) fn table(report: &Report, out: &mut impl Write) -> anyhow::Result<()> {
    let Report { parser, version, sha256, cases, seed, .. } = report;
    let digest = sha256.get(..12).unwrap_or_default();
    writeln!(out, "{} {version} {digest}, {cases} cases, seed {seed}", painted(BOLD, parser))?;
    for Finding { property, passed, checks, summary, failures, .. } in &report.findings {
        let word = match (passed, checks) {
            (true, 0) => painted(DIM, "-     "),
            (true, _) => painted(GOOD, "ok    "),
            (false, _) => painted(BAD, "FAILED"),
        };
        let mut lines = summary.lines();
        let failed = if *passed { String::new() } else { format!(", {} cases failed", failures.len()) };
        writeln!(out, "  {:17} {word}  {}{failed}", property.name(), lines.next().unwrap_or_default())?;
        for line in lines {
            writeln!(out, "  {:25} {}", "", painted(DIM, line))?;
        }
    }
    if !report.uncovered.is_empty() {
        writeln!(out, "  {}", painted(DIM, format_args!("no case shows: {}", report.uncovered.join("; "))))?;
    }
    for finding in &report.findings {
        for failure in &finding.failures {
            explain(finding.property.name(), failure, out)?;
        }
    }
    let mut failures = report.findings.iter().flat_map(|finding| &finding.failures);
    if failures.any(|failure| failure.what.contains("wasm trap: unreachable")) {
        writeln!(out, "\n{PANICKED}")?;
    }
    Ok(())
}

fn explain(property: &str, failure: &Failure, out: &mut impl Write) -> anyhow::Result<()> {
    let Failure { case, what, reproduce } = failure;
    writeln!(out, "\n{} {property}: {case}\n  {what}", painted(BAD, "FAILED"))?;
    if let Some(case) = reproduce {
        writeln!(out, "  {}", painted(DIM, "the smallest chunking that shows it, as a case file:"))?;
        writeln!(out, "{}", serde_json::to_string_pretty(case)?)?;
    }
    Ok(())
}

fn show(recording: &Recording, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let outcome = conformance::play_case(recording);
    for protocol in Protocol::ALL {
        writeln!(out, "{}", painted(BOLD, format_args!("{}: {}", recording.name(), protocol.name())))?;
        write!(out, "{}", case_stream::stream(protocol, &outcome.events, &outcome.end))?;
    }
    Ok(ExitCode::SUCCESS)
}

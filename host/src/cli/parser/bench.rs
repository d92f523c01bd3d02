//! `host parser bench FILE`: measures the cost of a delta in a parser, in the sandbox with all
//! limits.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use parsers::conformance::{Cost, Measures, cost};

use super::source::ParserArguments;
use crate::cli::table::Table;

#[derive(clap::Args)]
pub(super) struct BenchParserArguments {
    #[command(flatten)]
    parser: ParserArguments,
    /// Folder of the cases; their longer strings are lengthened for the measurement [default: the
    /// folder `cases` beside the parser's sources].
    #[arg(long, value_name = "DIR")]
    cases: Option<PathBuf>,
}

pub(super) fn run(arguments: &BenchParserArguments) -> anyhow::Result<ExitCode> {
    let files = arguments.parser.case_files(arguments.cases.as_deref())?;
    let costs = cost(&files, &arguments.parser.load(Measures::Time)?).map_err(anyhow::Error::msg)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "nanoseconds of CPU per delta of about four characters, by the stream's length in deltas")?;
    let mut table = Table::new(["REPEATED", "256", "1k", "4k", "16k", "64k", "CASE"]);
    for cost in &costs {
        table.row(row(cost));
    }
    write!(out, "{table}")?;
    Ok(ExitCode::SUCCESS)
}

fn row(cost: &Cost) -> [String; 7] {
    let figure = |at: usize| cost.nanoseconds.get(at).map_or_else(String::new, |ns| format!("{ns:.0}"));
    [cost.what.to_owned(), figure(0), figure(1), figure(2), figure(3), figure(4), cost.case.clone()]
}

//! `host parser …`: commands for authors of parsers. One file per command; each has `Arguments` and `run`.

mod bench;
mod inspect;
mod list;
mod new;
mod paint;
mod run;
mod source;
mod test;
mod trace;

use std::process::ExitCode;

use clap::Subcommand;

#[derive(clap::Args)]
pub(super) struct ParserCommandArguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show the parsers of the plugins folder and those inside the binary.
    List(list::ListArguments),
    /// Show what a parser says of itself, and how it was built.
    Inspect(inspect::InspectArguments),
    /// Make a crate for a new parser, which builds and passes its tests at once.
    New(new::NewArguments),
    /// Play a folder of cases to a parser and prove what every parser must keep.
    Test(test::TestArguments),
    /// Play one case and print its items as JSON.
    Run(run::RunArguments),
    /// Show one turn step by step: delta, markers, ops, items, events.
    Trace(trace::TraceArguments),
    /// Measure what a delta costs in a parser.
    Bench(bench::BenchParserArguments),
}

pub(super) fn run(arguments: &ParserCommandArguments) -> anyhow::Result<ExitCode> {
    match &arguments.command {
        Command::List(arguments) => list::run(arguments),
        Command::Inspect(arguments) => inspect::run(arguments),
        Command::New(arguments) => new::run(arguments),
        Command::Test(arguments) => test::run(arguments),
        Command::Run(arguments) => run::run(arguments),
        Command::Trace(arguments) => trace::run(arguments),
        Command::Bench(arguments) => bench::run(arguments),
    }
}

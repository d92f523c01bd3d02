//! `host parser …`: commands for authors of parsers. One file per command; each has `Arguments` and
//! `run`.

mod bench;
mod case;
mod derive;
mod fit;
mod inspect;
mod list;
mod new;
mod paint;
mod run;
mod source;
mod template;
mod test;
mod trace;

pub(super) use derive::{Foreseen, Foresight, MOST_DERIVED, ParserMaker, derive_missing};

use std::process::ExitCode;

use clap::Subcommand;

#[derive(clap::Args)]
pub(super) struct ParserCommandArguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the parsers of the plugins folder and those inside the binary.
    List(list::ListArguments),
    /// Show a parser's description of itself, and how it was built.
    Inspect(inspect::InspectArguments),
    /// Create a crate for a new parser, which builds and passes its tests at once.
    New(new::NewArguments),
    /// Run a folder of cases through a parser and check the properties that every parser must have.
    Test(test::TestArguments),
    /// Run cases through a parser and print the resulting items as JSON.
    Run(run::RunArguments),
    /// Write a turn of a record (`serve --record`) as a case.
    Case(case::CaseArguments),
    /// Check that a parser reads what a model's chat template writes.
    Fit(fit::FitArguments),
    /// Write a parser for the format that a model's chat template writes.
    Derive(derive::DeriveArguments),
    /// Check, export or compare a response template.
    Template(template::TemplateArguments),
    /// Show one turn step by step: deltas, markers, operations, items, events.
    Trace(trace::TraceArguments),
    /// Measure the cost of a delta in a parser.
    Bench(bench::BenchParserArguments),
}

/// `command` is the whole command line.
pub(super) fn run(arguments: &ParserCommandArguments, command: &clap::Command) -> anyhow::Result<ExitCode> {
    match &arguments.command {
        Command::List(arguments) => list::run(arguments),
        Command::Inspect(arguments) => inspect::run(arguments),
        Command::New(arguments) => new::run(arguments),
        Command::Test(arguments) => test::run(arguments),
        Command::Run(arguments) => run::run(arguments),
        Command::Case(arguments) => case::run(arguments, command),
        Command::Fit(arguments) => fit::run(arguments, command),
        Command::Derive(arguments) => derive::run(arguments),
        Command::Template(arguments) => template::run(arguments),
        Command::Trace(arguments) => trace::run(arguments),
        Command::Bench(arguments) => bench::run(arguments),
    }
}

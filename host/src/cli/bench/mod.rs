//! `host bench …`: benchmarks. One file per command; each has `Arguments` and `run`.

mod model;
mod output;
mod serve;

use std::process::ExitCode;

use clap::Subcommand;

#[derive(clap::Args)]
pub(super) struct BenchArguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Measure a model on this machine, without HTTP: prompts, answers, memory bandwidth, where a step's time goes.
    Model(model::BenchModelArguments),
    /// Measure a server behind a URL, any that speaks OpenAI's API: latencies and throughput under a load.
    Serve(serve::BenchServeArguments),
}

pub(super) fn run(arguments: &BenchArguments) -> anyhow::Result<ExitCode> {
    match &arguments.command {
        Command::Model(arguments) => model::run(arguments),
        Command::Serve(arguments) => serve::run(arguments),
    }
}

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
    /// Measure a model on this machine, without HTTP: speed of prompts and of generation, memory
    /// bandwidth, time by part of a step.
    Model(model::BenchModelArguments),
    /// Measure any server of the OpenAI API under a load: latencies and throughput.
    Serve(serve::BenchServeArguments),
}

pub(super) fn run(arguments: &BenchArguments) -> anyhow::Result<ExitCode> {
    match &arguments.command {
        Command::Model(arguments) => model::run(arguments),
        Command::Serve(arguments) => serve::run(arguments),
    }
}

//! Where responses and conversations are kept: the switches of `serve`, and `host store`, which
//! works on the same file.

mod backup;
mod check;
mod export;
mod file;
mod migrate;
mod open;
mod purge;
mod since;
mod stats;

use std::process::ExitCode;

use clap::Subcommand;

pub(super) use open::StoreArguments;

/// Arguments of `host store`.
#[derive(clap::Args)]
pub(super) struct StoreCommandArguments {
    #[command(subcommand)]
    command: StoreCommand,
}

#[derive(Subcommand)]
enum StoreCommand {
    /// Show how much is stored, and of whom.
    Stats(stats::StatsArguments),
    /// Print responses, chat completions and conversations as JSON lines, in plain text.
    Export(export::ExportArguments),
    /// Delete what an owner has stored, or what wasn't used for a time.
    Purge(purge::PurgeArguments),
    /// Check that everything stored is whole: a line for each fault, with exit status 1.
    Check(check::CheckArguments),
    /// Bring a store to this version's schema, as a server does when it starts.
    Migrate(migrate::MigrateArguments),
    /// Copy a store to a new file, in one consistent state. A server may have it open.
    Backup(backup::BackupArguments),
}

/// Runs `host store`.
pub(super) fn run(arguments: &StoreCommandArguments) -> anyhow::Result<ExitCode> {
    match &arguments.command {
        StoreCommand::Stats(arguments) => stats::run(arguments),
        StoreCommand::Export(arguments) => export::run(arguments),
        StoreCommand::Purge(arguments) => purge::run(arguments),
        StoreCommand::Check(arguments) => check::run(arguments),
        StoreCommand::Migrate(arguments) => migrate::run(arguments),
        StoreCommand::Backup(arguments) => backup::run(arguments),
    }
}

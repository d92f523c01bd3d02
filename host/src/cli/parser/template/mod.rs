//! `host parser template …`: what a `response_template` is worth, which transformers and others read
//! from a model's `tokenizer_config.json`. `check` tries it, `export` writes one of ours with its
//! proof, `diff` asks transformers itself.

mod check;
mod diff;
mod export;
mod given;
mod losses;

use std::process::ExitCode;

use clap::Subcommand;

#[derive(clap::Args)]
pub(super) struct TemplateArguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check a response template: what it loses, where it is ambiguous, and all properties.
    Check(check::CheckArguments),
    /// Print a response template as a tokenizer has it, and write its proof.
    Export(export::ExportArguments),
    /// Compare with what transformers itself makes of the same turns.
    Diff(diff::DiffArguments),
}

pub(super) fn run(arguments: &TemplateArguments) -> anyhow::Result<ExitCode> {
    let result = match &arguments.command {
        Command::Check(arguments) => check::run(arguments),
        Command::Export(arguments) => export::run(arguments),
        Command::Diff(arguments) => diff::run(arguments),
    };
    result.or_else(|error| {
        crate::cli::fail(&crate::cli::one_line(&error));
        Ok(ExitCode::from(2))
    })
}

//! What a shell and `man` know of the command line: completions, and pages of the manual.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Command;
use clap_complete::Shell;
use system::program;

#[derive(clap::Args)]
pub(super) struct CompletionsArguments {
    /// Shell that completes.
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(clap::Args)]
pub(super) struct ManArguments {
    /// Folder for the pages, which is made if it is missing: a page for the program, and one for each command.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Prints the script that a shell loads.
pub(super) fn completions(
    arguments: &CompletionsArguments,
    mut command: Command,
) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, program::name(), &mut script);
    std::io::stdout().lock().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the pages of the manual.
pub(super) fn manual(arguments: &ManArguments, command: Command) -> anyhow::Result<ExitCode> {
    let folder = &arguments.folder;
    let write = || {
        std::fs::create_dir_all(folder)?;
        clap_mangen::generate_to(command, folder)
    };
    write().with_context(|| folder.display().to_string())?;
    Ok(ExitCode::SUCCESS)
}

//! `host store backup`: a copy of a store that a server may have open.

use std::path::PathBuf;
use std::process::ExitCode;

use super::file::StoreArgument;

#[derive(clap::Args)]
pub(super) struct BackupArguments {
    /// File for the copy, which must not exist. Only this user may read it.
    copy: PathBuf,
    #[command(flatten)]
    store: StoreArgument,
}

pub(super) fn run(arguments: &BackupArguments) -> anyhow::Result<ExitCode> {
    store::backup(&arguments.store.file()?, &arguments.copy)?;
    Ok(ExitCode::SUCCESS)
}

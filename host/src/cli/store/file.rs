//! The file that `host store` works on.

use std::path::PathBuf;

use anyhow::{Context, bail};
use store::{OpenCause, Options, Result, Sqlite};

use super::open::DEFAULT;
use crate::cli::data;

#[derive(clap::Args)]
pub(super) struct FileArgument {
    /// The store [default: sqlite:, with sluice/state.db in the user's data folder, as `serve`
    /// has it].
    #[arg(long = "store", value_name = "sqlite:FILE", value_parser = file)]
    file: Option<PathBuf>,
}

fn file(text: &str) -> std::result::Result<PathBuf, String> {
    let file = text.strip_prefix("sqlite:").filter(|file| !file.is_empty());
    file.map(PathBuf::from).ok_or_else(|| format!("{text} is not sqlite:FILE"))
}

impl FileArgument {
    /// Path of the file, which exists.
    pub(super) fn path(&self) -> anyhow::Result<PathBuf> {
        let file = self.file.clone().or_else(|| data::file(DEFAULT));
        let file = file.context("there is no data folder: name the store, --store sqlite:FILE")?;
        if !file.exists() {
            bail!("store {}: there is no such file; a server makes it when it starts", file.display());
        }
        Ok(file)
    }

    /// Opens the store, which no server may have open.
    pub(super) fn open(&self) -> anyhow::Result<Sqlite> {
        let file = self.path()?;
        match Sqlite::open(&file, &Options::default()) {
            Err(error) if error.cause() == OpenCause::InUse => bail!(
                "store {}: another process has it open, such as a server: stop that one, or work on a copy ({} store backup COPY)",
                file.display(),
                system::program::name()
            ),
            opened => Ok(opened?),
        }
    }
}

/// Waits for transactions of a store.
pub(super) fn wait<T>(transactions: impl Future<Output = Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().context("can't start the runtime")?;
    Ok(runtime.block_on(transactions)?)
}

//! The store that `host store` works on.

use std::path::PathBuf;

use anyhow::{Context, bail};
use store::{OpenCause, Options, Result, SchemaVersions, Sqlite, Store};

use super::open::{DEFAULT, DatabaseArguments, Place};
use crate::cli::data;
use crate::cli::values::parsed;

#[derive(clap::Args)]
pub(super) struct StoreArgument {
    /// The store [default: sqlite:, with sluice/state.db in the user's data folder, as `serve`
    /// has it].
    #[arg(long, value_name = "sqlite:FILE|postgres:URL", value_parser = parsed::<Place>)]
    store: Option<Place>,
    #[command(flatten)]
    database: DatabaseArguments,
}

impl StoreArgument {
    /// Opens the store. A file may not be open in a server; a database may.
    pub(super) fn open(&self) -> anyhow::Result<Box<dyn Store>> {
        Ok(self.opened()?.0)
    }

    /// The schema of the store, before it was opened and since.
    pub(super) fn schema(&self) -> anyhow::Result<SchemaVersions> {
        Ok(self.opened()?.1)
    }

    fn opened(&self) -> anyhow::Result<(Box<dyn Store>, SchemaVersions)> {
        if let Some(Place::Postgres(url)) = &self.store {
            let store = self.database.open_for_commands(url).context("--store")?;
            let schema = store.schema();
            return Ok((Box::new(store), schema));
        }
        let file = self.file()?;
        match Sqlite::open(&file, &Options::default()) {
            Err(error) if error.cause() == OpenCause::InUse => bail!(
                "store {}: another process has it open, such as a server: stop that one, or work on a copy ({} store backup COPY)",
                file.display(),
                system::program::name()
            ),
            opened => {
                let store = opened?;
                let schema = store.schema();
                Ok((Box::new(store), schema))
            }
        }
    }

    /// Path of the store's file, which exists.
    pub(super) fn file(&self) -> anyhow::Result<PathBuf> {
        let file = match &self.store {
            Some(Place::Sqlite(file)) => Some(file.clone()),
            Some(Place::Postgres(_)) => bail!("--store: a Postgres database is copied by pg_dump"),
            Some(Place::Memory | Place::Nowhere) => {
                bail!("--store: only a server has a store in memory: name a file or a database")
            }
            None => data::file(DEFAULT),
        };
        let file = file.context("there is no data folder: name the store, --store sqlite:FILE")?;
        if !file.exists() {
            bail!("store {}: there is no such file; a server makes it when it starts", file.display());
        }
        Ok(file)
    }
}

/// Waits for transactions of a store.
pub(super) fn wait<T>(transactions: impl Future<Output = Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .context("can't start the runtime")?;
    Ok(runtime.block_on(transactions)?)
}

//! The store of `host serve`: `--store`, its default, and the fallback if there can be no file.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Context, bail};
use api::seal::Seal;
use server::state::Presence;
use store::{
    Bounds, OpenCause, OpenError, Options, Postgres, PostgresOptions, Sqlite, Store, Synchronous, TimeSource,
};

use crate::cli::limits::Switches;
use crate::cli::values::{parsed, synchronous};
use crate::cli::{data, settings_file};

/// Name of the default store in the user's data folder.
pub(super) const DEFAULT: &str = "state.db";
/// Schema of a database that has the tables.
const SCHEMA: &str = "sluice";

/// Connections of `host store`, which asks one thing after another.
const COMMAND_CONNECTIONS: usize = 1;

/// Value of `--store`. It holds no password: others see it among the processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    Sqlite(PathBuf),
    Postgres(String),
    Memory,
    Nowhere,
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("postgres" | "postgresql", rest)) if rest.starts_with("//") => {
                let user = rest.split(['/', '?']).nth(2).and_then(|host| host.rsplit_once('@'));
                let has_password =
                    user.is_some_and(|(user, _)| user.contains(':')) || rest.contains("password=");
                if has_password {
                    return Err("the URL has a password, which others on this machine see among the processes: give it as PGPASSWORD or by --store-password-file".to_owned());
                }
                Ok(Self::Postgres(text.to_owned()))
            }
            Some(("sqlite", file)) if !file.is_empty() => Ok(Self::Sqlite(file.into())),
            None if text == "memory" => Ok(Self::Memory),
            None if text == "none" => Ok(Self::Nowhere),
            _ => {
                Err(format!("{text} is none of sqlite:FILE, postgres://USER@HOST/DATABASE, memory and none"))
            }
        }
    }
}

#[derive(clap::Args)]
pub(in crate::cli) struct StoreArguments {
    /// Where responses and conversations are kept: in a file, which is created if it is missing; in a
    /// Postgres database, which any number of servers share; in memory, until the server ends; or
    /// nowhere [default: sqlite:, with sluice/state.db in the user's data folder; if that isn't
    /// possible, `memory`, with a warning].
    #[arg(long, value_name = "sqlite:FILE|postgres:URL|memory|none", value_parser = parsed::<Place>)]
    store: Option<Place>,
    /// What is stored in a file outlives at once: `normal`: the end of the process, at any moment;
    /// `full`: the loss of power, too, for which each commit waits for the disk.
    /// [default: normal].
    #[arg(long, value_parser = synchronous())]
    store_sync: Option<Synchronous>,
    #[command(flatten)]
    database: DatabaseArguments,
    /// Connections to the Postgres database.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000), default_value_t = 16)]
    store_connections: u16,
    #[command(flatten)]
    limits: Switches<Bounds>,
}

/// How the database of a store is connected to.
#[derive(clap::Args)]
pub(super) struct DatabaseArguments {
    /// File with the password of the Postgres database, on its one line [default: the variable
    /// PGPASSWORD].
    #[arg(long, value_name = "FILE")]
    store_password_file: Option<PathBuf>,
    /// CA certificates for the Postgres database, in PEM. TLS is spoken with every host but this
    /// machine, unless its URL says `sslmode=disable` [default: the system's].
    #[arg(long, value_name = "FILE")]
    store_ca: Option<PathBuf>,
}

impl DatabaseArguments {
    /// How a database is opened as `host`.
    fn options(&self, host: String, bounds: Bounds, connections: usize) -> anyhow::Result<PostgresOptions> {
        let tls = net::tls::client_config(self.store_ca.as_deref());
        Ok(PostgresOptions {
            host,
            bounds,
            clock: TimeSource::default(),
            schema: SCHEMA.to_owned(),
            password: self.password()?,
            connections,
            is_limited: true,
            tls: Some(Arc::new(tls.map_err(anyhow::Error::msg).context("--store-ca")?)),
        })
    }

    fn password(&self) -> anyhow::Result<Option<String>> {
        let Some(file) = &self.store_password_file else { return Ok(std::env::var("PGPASSWORD").ok()) };
        let text = settings_file::read("--store-password-file", file)?;
        Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned()))
    }

    /// Opens the store of `host store`.
    pub(super) fn open_for_commands(&self, url: &str) -> anyhow::Result<Postgres> {
        Ok(Postgres::open(url, &self.for_commands()?)?)
    }

    fn for_commands(&self) -> anyhow::Result<PostgresOptions> {
        let options = self.options(String::new(), Bounds::default(), COMMAND_CONNECTIONS)?;
        Ok(PostgresOptions { is_limited: false, ..options })
    }
}

/// A store and its place for the summary.
type Opened = (Option<Arc<dyn Store>>, String);

impl StoreArguments {
    /// Whether the operator named the place, so that there is no other if it can't be used.
    pub(in crate::cli) fn is_named(&self) -> bool {
        self.store.is_some()
    }

    /// The store's file; `None` if it is in memory or nowhere, or there is no data folder.
    pub(in crate::cli) fn file(&self) -> Option<PathBuf> {
        match &self.store {
            Some(Place::Sqlite(file)) => Some(file.clone()),
            Some(Place::Postgres(_) | Place::Memory | Place::Nowhere) => None,
            None => data::file(DEFAULT),
        }
    }

    /// The URL of the store's database, and the version of its schema, which isn't changed; none if it is
    /// in none.
    pub(in crate::cli) fn database(&self) -> Option<(&str, anyhow::Result<usize>)> {
        let Some(Place::Postgres(url)) = &self.store else { return None };
        let version = self.database.for_commands().and_then(|options| Ok(Postgres::version(url, &options)?));
        Some((url, version))
    }

    /// Opens the store. The default is the file in the user's data folder; where there can't be
    /// one, or another server has it open, the store is in memory, with a warning.
    ///
    /// # Errors
    /// The named file can't be opened, or the default one has content that this version can't read:
    /// it may be what its owner looks for.
    pub(in crate::cli) fn open(&self) -> anyhow::Result<Opened> {
        match &self.store {
            Some(Place::Postgres(_) | Place::Memory | Place::Nowhere) if self.store_sync.is_some() => {
                bail!(
                    "--store-sync is for a file: leave it out (Postgres waits for its disk by its own setting `synchronous_commit`)"
                )
            }
            Some(Place::Nowhere) => return Ok((None, "none: nothing is kept".to_owned())),
            Some(Place::Memory) => return self.memory(),
            Some(Place::Sqlite(file)) => return self.sqlite(file).context("--store"),
            Some(Place::Postgres(url)) => return self.postgres(url).context("--store"),
            None => {}
        }
        let Some(file) = data::file(DEFAULT) else {
            tracing::info!(
                "no data folder: stored responses are lost at a restart; --store sqlite:FILE keeps them"
            );
            return self.memory();
        };
        match self.sqlite(&file) {
            Err(error) if error.cause() == OpenCause::Content => {
                Err(error).context("the default store (--store names another, or `memory`)")
            }
            Err(error) => {
                tracing::warn!(%error, "responses are stored in memory, and lost when this server ends; --store sqlite:FILE names another file");
                self.memory()
            }
            Ok(opened) => Ok(opened),
        }
    }

    /// Enters the open store beside the other servers that share it.
    ///
    /// # Errors
    /// Another one has other keys that seal.
    pub(in crate::cli) async fn enter(&self, store: &dyn Store, seal: &Seal) -> anyhow::Result<Presence> {
        Presence::enter(store, seal, &self.limits.0).await.map_err(anyhow::Error::msg)
    }

    fn sqlite(&self, file: &Path) -> Result<Opened, OpenError> {
        let store = Sqlite::open(file, &self.options(self.limits.0.clone()))?;
        Ok((Some(Arc::new(store)), self.shown(&format!("sqlite:{}", file.display()))))
    }

    fn postgres(&self, url: &str) -> anyhow::Result<Opened> {
        let (bounds, connections) = (self.limits.0.clone(), self.store_connections.into());
        let store = Postgres::open(url, &self.database.options(host_name(), bounds, connections)?)?;
        Ok((Some(Arc::new(store)), self.shown(url)))
    }

    /// A place that keeps what is stored, for the summary.
    fn shown(&self, place: &str) -> String {
        let days = self.limits.0.unused.as_secs().div_ceil(24 * 60 * 60);
        format!("{place} (prompts and answers, {days} days after their last use; --store none keeps nothing)")
    }

    fn memory(&self) -> anyhow::Result<Opened> {
        let store = Sqlite::memory(&self.options(self.limits.0.in_memory()))?;
        Ok((Some(Arc::new(store)), "memory, until the server ends".to_owned()))
    }

    fn options(&self, bounds: Bounds) -> Options {
        Options {
            host: host_name(),
            bounds,
            synchronous: self.store_sync.unwrap_or_default(),
            ..Options::default()
        }
    }
}

/// This process's name in leases.
fn host_name() -> String {
    format!("{:016x}", getrandom::u64().expect("the system gives randomness"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_file_memory_or_none() {
        assert_eq!("sqlite:a:b.db".parse(), Ok(Place::Sqlite("a:b.db".into())));
        assert_eq!("memory".parse(), Ok(Place::Memory));
        assert_eq!("none".parse(), Ok(Place::Nowhere));
        let url = "postgres://sluice@db.example:5432/state?sslmode=require";
        assert_eq!(url.parse(), Ok(Place::Postgres(url.into())));
        let passwords = ["postgres://a:b@host/state", "postgresql://host/state?user=a&password=b"];
        for text in
            ["", "sqlite", "sqlite:", "memory:", "state.db", "postgres:state"].into_iter().chain(passwords)
        {
            assert!(text.parse::<Place>().is_err(), "{text}");
        }
    }
}

//! A connection with what transactions need beside it: bounds, the clock, the host's name. Statements are prepared once.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, Params, Row};

use crate::bounds::millis;
use crate::{Bounds, Clock, Error, Millis, Result};

/// A thread's connection.
pub(crate) struct Session {
    pub(crate) connection: Connection,
    pub(crate) bounds: Bounds,
    pub(crate) clock: Clock,
    pub(crate) host: Arc<str>,
}

impl Session {
    /// Runs a statement without parameters or rows.
    pub(crate) fn execute(&self, sql: &str) -> Result<()> {
        Ok(self.connection.prepare_cached(sql)?.execute([]).map(|_| ())?)
    }

    /// Runs a statement. Returns how many rows it changed.
    pub(crate) fn run(&self, sql: &str, params: impl Params) -> Result<usize> {
        Ok(self.connection.prepare_cached(sql)?.execute(params)?)
    }

    /// The first row.
    pub(crate) fn first<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        Ok(self.connection.prepare_cached(sql)?.query_row(params, read).optional()?)
    }

    /// The one number of a query that always has one.
    pub(crate) fn number(&self, sql: &str, params: impl Params) -> Result<u64> {
        Ok(self.connection.prepare_cached(sql)?.query_row(params, |row| row.get(0))?)
    }

    /// All rows.
    pub(crate) fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let mut statement = self.connection.prepare_cached(sql)?;
        Ok(statement.query_map(params, read)?.collect::<rusqlite::Result<_>>()?)
    }

    /// Whether SQLite has ended the transaction by itself.
    pub(crate) fn rolled_back(&self) -> bool {
        self.connection.is_autocommit()
    }

    pub(crate) fn now(&self) -> Millis {
        self.clock.now()
    }

    /// What was used last at this time or before is expired.
    pub(crate) fn expired(&self) -> Millis {
        self.now().saturating_sub(millis(self.bounds.unused))
    }

    /// When a lease that is given now ends.
    pub(crate) fn lease_end(&self) -> Millis {
        self.now() + millis(self.bounds.lease)
    }
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        Error::Unavailable(error.to_string())
    }
}

//! A connection with what transactions need beside it: bounds, the clock, the host's name.
//! Statements are prepared once.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Params, Row};

use super::open::BUSY;
use super::open_file::OpenFile;
use crate::bounds::millis;
use crate::clock::Moment;
use crate::{Bounds, Evicted, Millis, Result, StoreError, TimeSource};

/// A thread's connection.
pub(crate) struct Session {
    pub(crate) connection: Connection,
    /// The database's file; none in memory.
    pub(crate) file: Option<Arc<OpenFile>>,
    pub(crate) bounds: Bounds,
    pub(crate) clock: TimeSource,
    /// When the transaction under way happens.
    pub(crate) moment: Cell<Moment>,
    /// The host that makes the transaction under way.
    pub(crate) host: RefCell<Arc<str>>,
    /// What the transaction under way has evicted.
    pub(crate) evicting: Cell<Evicted>,
    /// What was evicted by all that were committed.
    pub(crate) evicted: Arc<Mutex<Evicted>>,
}

impl Session {
    /// Begins a transaction with this statement, if the file is still there.
    pub(crate) fn begin(&self, sql: &str) -> Result<()> {
        if let Some(file) = &self.file {
            file.check(|| {
                self.number("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", []).ok()
            })?;
        }
        self.tick();
        self.execute(sql)
    }

    /// Takes the clock's time for the transaction that begins.
    pub(crate) fn tick(&self) {
        self.moment.set(self.clock.moment());
    }

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

    /// Writes what is only in the write-ahead log into the file, and cuts the log, unless a reader
    /// needs it.
    pub(crate) fn empty_log(&self) {
        // What fails here fails where the store is used, too, and is told there.
        let _ = self.connection.busy_timeout(Duration::ZERO);
        let _ = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        let _ = self.connection.busy_timeout(BUSY);
    }

    /// Whether SQLite has ended the transaction by itself.
    pub(crate) fn rolled_back(&self) -> bool {
        self.connection.is_autocommit()
    }

    /// Counts what the transaction under way evicts.
    pub(crate) fn count(&self, evicted: Evicted) {
        let mut all = self.evicting.get();
        all += evicted;
        self.evicting.set(all);
    }

    /// Adds what was evicted, once that is committed, and notes the file's size.
    pub(crate) fn committed(&self) {
        if let Some(file) = &self.file {
            file.committed();
        }
        *self.evicted.lock().unwrap_or_else(PoisonError::into_inner) += self.evicting.take();
    }

    /// The host that makes the transaction under way.
    pub(crate) fn host(&self) -> Arc<str> {
        self.host.borrow().clone()
    }

    pub(crate) fn now(&self) -> Millis {
        self.moment.get().date
    }

    /// What was used last at this time or before is expired.
    pub(crate) fn expired(&self) -> Millis {
        self.now().saturating_sub(millis(self.bounds.unused))
    }

    /// The time by which leases end.
    pub(crate) fn lease_now(&self) -> Millis {
        self.moment.get().passed
    }

    /// When a lease that is given now ends.
    pub(crate) fn lease_end(&self) -> Millis {
        self.lease_now() + millis(self.bounds.lease)
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        StoreError::Unavailable(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::{Options, Sqlite, TimeSource};

    #[tokio::test]
    async fn transaction_has_one_moment_however_long_it_takes() {
        let clock = TimeSource::manual(1000);
        let store = Sqlite::memory(&Options { clock: clock.clone(), ..Options::default() }).unwrap();
        let moments = async || {
            let work = |s: &super::Session| {
                let before = (s.now(), s.lease_now());
                s.clock.advance(Duration::from_secs(1));
                assert_eq!((s.now(), s.lease_now()), before);
                Ok(before)
            };
            store.call(work).await.unwrap()
        };
        assert_eq!([moments().await, moments().await], [(1000, 0), (2000, 1000)]);
    }
}

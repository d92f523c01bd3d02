//! A connection to SQLite: a thread's own. Statements are prepared once.

use std::time::Duration;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql, params_from_iter};

use super::open::BUSY;
use crate::sql::database::{Columns, Database, EachRow, Others, OwnerLock, Row, Value};
use crate::{Result, StoreError};

/// Pages that are given back to the file system at once.
const PAGES: u64 = 1024;

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        StoreError::Unavailable(error.to_string())
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match *self {
            Self::Null => ValueRef::Null,
            Self::Int(number) => ValueRef::Integer(number),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
            Self::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

impl Columns for rusqlite::Row<'_> {
    fn int(&self, column: usize) -> Result<Option<i64>> {
        Ok(self.get(column)?)
    }

    fn text(&self, column: usize) -> Result<Option<String>> {
        Ok(self.get(column)?)
    }

    fn bytes(&self, column: usize) -> Result<Option<Vec<u8>>> {
        Ok(self.get(column)?)
    }
}

/// Runs a statement without parameters or rows.
pub(crate) fn execute(connection: &Connection, sql: &str) -> Result<()> {
    Ok(connection.prepare_cached(sql)?.execute([]).map(|_| ())?)
}

/// Bytes of the pages that the database has; none if they can't be counted.
pub(crate) fn page_bytes(connection: &Connection) -> Option<u64> {
    let sql = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
    connection.prepare_cached(sql).and_then(|mut sql| sql.query_row([], |row| row.get(0))).ok()
}

/// Writes what is only in the write-ahead log into the file, and cuts the log, unless a reader needs
/// it.
pub(crate) fn empty_log(connection: &Connection) {
    // What fails here fails where the store is used, too, and is told there.
    let _ = connection.busy_timeout(Duration::ZERO);
    let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    let _ = connection.busy_timeout(BUSY);
}

impl Database for std::rc::Rc<Connection> {
    fn run(&self, sql: &str, params: &[Value<'_>]) -> Result<u64> {
        Ok(self.prepare_cached(sql)?.execute(params_from_iter(params))? as u64)
    }

    fn run_each(&self, sql: &str, rows: &[Vec<Value<'_>>]) -> Result<()> {
        let mut statement = self.prepare_cached(sql)?;
        for row in rows {
            statement.execute(params_from_iter(row))?;
        }
        Ok(())
    }

    fn query(&self, sql: &str, params: &[Value<'_>], each: &mut EachRow<'_>) -> Result<()> {
        let mut statement = self.prepare_cached(sql)?;
        let mut rows = statement.query(params_from_iter(params))?;
        while let Some(row) = rows.next()? {
            if !each(&Row(row))? {
                break;
            }
        }
        Ok(())
    }

    /// The writer is alone.
    fn locking(&self, _: Others) -> &'static str {
        ""
    }

    fn lock_owner(&self, _: i64) -> Result<OwnerLock> {
        Ok(OwnerLock::Held)
    }

    fn bytes(&self) -> Result<u64> {
        let sql = "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size";
        Ok(self.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
    }

    fn damages(&self) -> Result<Vec<String>> {
        let mut statement = self.prepare_cached("PRAGMA integrity_check")?;
        let lines: Vec<String> =
            statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        Ok(lines.into_iter().filter(|line| line != "ok").collect())
    }

    /// Once more than a quarter of the pages is free; fewer are soon used again.
    fn shrink(&self) -> Result<()> {
        let number = |sql: &str| -> rusqlite::Result<u64> {
            self.prepare_cached(sql)?.query_row([], |row| row.get(0))
        };
        let free = number("SELECT freelist_count FROM pragma_freelist_count")?;
        let pages = number("SELECT page_count FROM pragma_page_count")?;
        if free * 4 > pages {
            let mut vacuum = self.prepare_cached(&format!("PRAGMA incremental_vacuum({PAGES})"))?;
            let mut rows = vacuum.query([])?;
            while rows.next()?.is_some() {}
        }
        Ok(())
    }
}

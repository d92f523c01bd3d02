//! A connection to Postgres: a thread's own, made when it is first needed, and anew once it is lost.
//!
//! Poolers that lend a connection for one transaction (pgbouncer) stand between without notice: no
//! statement has a name, and nothing is set or locked beyond a transaction's end.

use std::cell::{Cell, RefCell};
use std::fmt::Write;
use std::rc::Rc;
use std::time::Duration;

use futures_util::future::try_join_all;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error};

use super::TimeLimits;
use super::address::Address;
use crate::clock::Moment;
use crate::sql::database::{Columns, Database, EachRow, Others, OwnerLock, Row, Value};
use crate::sql::transactions::Scope;
use crate::{Result, StoreError, TimeSource};

/// Time within which a connection is made.
const CONNECTING: Duration = Duration::from_secs(10);

/// What a transaction does.
#[derive(Clone, Debug)]
pub(crate) enum Access {
    Read,
    Write(Scope),
}

/// Why a statement failed, as far as it says what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Another transaction was in the way: the same again is made.
    Conflict,
    /// The connection is lost: what was sent may have been done.
    Lost,
    /// The database refuses it.
    Refused,
}

/// Owners whose locks the transaction under way has.
#[derive(Clone, Copy)]
enum Locked {
    None,
    One(i64),
    All,
}

pub(crate) struct Connection {
    address: Rc<Address>,
    clock: TimeSource,
    limits: TimeLimits,
    runtime: Runtime,
    client: RefCell<Option<(Client, JoinHandle<()>)>>,
    /// Whether the transaction that was asked for last has begun.
    has_begun: Cell<bool>,
    /// Whether the transaction under way only reads.
    reads: Cell<bool>,
    locked: Cell<Locked>,
    /// The first failure of the transaction under way. Behind it, Postgres makes none of its statements.
    failure: Cell<Option<Failure>>,
}

impl Connection {
    pub(crate) fn new(address: Address, clock: TimeSource, limits: TimeLimits) -> std::io::Result<Self> {
        Ok(Self {
            address: Rc::new(address),
            clock,
            limits,
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build()?,
            client: RefCell::default(),
            has_begun: Cell::default(),
            reads: Cell::default(),
            locked: Cell::new(Locked::None),
            failure: Cell::default(),
        })
    }

    /// Begins a transaction. Returns its moment.
    pub(crate) fn begin(&self, access: &Access) -> Result<Moment> {
        self.failure.take();
        self.has_begun.set(false);
        self.reads.set(matches!(access, Access::Read));
        self.locked.set(Locked::None);
        self.connect()?;
        let mode = match access {
            Access::Read => "ISOLATION LEVEL REPEATABLE READ READ ONLY",
            // Whether anything is written is the database's to say: some are read-only once their disk is full.
            Access::Write(_) => "ISOLATION LEVEL READ COMMITTED",
        };
        let limit = self.limits.statement.as_millis();
        let begin = format!(
            "BEGIN {mode}; SET LOCAL search_path TO {}; SET LOCAL statement_timeout = {limit}; SET LOCAL idle_in_transaction_session_timeout = {limit}",
            self.address.schema
        );
        let (lock, owner) = match access {
            Access::Write(Scope::Owner(owner)) => {
                ("SELECT key FROM owner WHERE name = $1 FOR UPDATE", Some(Value::Text(owner.name())))
            }
            Access::Write(Scope::All) => ("SELECT key FROM owner ORDER BY key FOR UPDATE", None),
            Access::Write(Scope::Row) | Access::Read => ("", None),
        };
        let now = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)";
        let owner: Vec<_> = owner.iter().map(Parameter::of).collect();
        let owner: Vec<_> = owner.iter().map(Parameter::typed).collect();
        let (key, date) = self.answered(async |client| {
            let locked =
                async { if lock.is_empty() { Ok(vec![]) } else { client.query_typed(lock, &owner).await } };
            // Sent together. The lock comes first: while it is waited for, time passes.
            let answers =
                tokio::try_join!(client.batch_execute(&begin), locked, client.query_typed(now, &[]));
            answers.map(|((), key, date)| (key, date))
        })?;
        self.has_begun.set(true);
        match (access, key.first()) {
            (Access::Write(Scope::Owner(_)), Some(row)) => {
                self.locked.set(Row(row).get(0).map_or(Locked::None, Locked::One));
            }
            (Access::Write(Scope::All), _) => self.locked.set(Locked::All),
            _ => {}
        }
        if self.clock.is_manual() {
            return Ok(self.clock.moment());
        }
        let date = date.first().map_or(Ok(0), |row| Row(row).get(0))?;
        Ok(Moment { date, passed: date })
    }

    /// Commits the transaction, if none of its statements failed.
    pub(crate) fn commit(&self) -> Result<()> {
        if self.failure.get().is_some() {
            return Err(StoreError::Unavailable(format!("{}: a statement failed", self.address)));
        }
        self.answered(async |client| client.batch_execute("COMMIT").await)
    }

    /// Ends the transaction with nothing of it made.
    pub(crate) fn roll_back(&self) {
        if self.failure.get() == Some(Failure::Lost)
            || self.answered(async |client| client.batch_execute("ROLLBACK").await).is_err()
        {
            self.disconnect();
        }
    }

    /// Name of the schema that has the tables, quoted.
    pub(crate) fn schema(&self) -> &str {
        &self.address.schema
    }

    /// Whether the transaction that was asked for last has begun, whatever became of it.
    pub(crate) fn has_begun(&self) -> bool {
        self.has_begun.get()
    }

    /// What the transaction under way failed with.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.failure.get()
    }

    /// Runs statements without parameters or rows.
    pub(crate) fn execute(&self, sql: &str) -> Result<()> {
        self.answered(async |client| client.batch_execute(sql).await)
    }

    fn connect(&self) -> Result<()> {
        if self.client.borrow().as_ref().is_some_and(|(client, _)| !client.is_closed()) {
            return Ok(());
        }
        self.disconnect();
        let address = self.address.clone();
        let connected =
            self.runtime.block_on(async { tokio::time::timeout(CONNECTING, address.connect()).await });
        let (client, connection) = match connected {
            Ok(Ok(connected)) => connected,
            Ok(Err(error)) => return Err(self.failed(&error)),
            Err(_) => return Err(self.silent()),
        };
        self.client.replace(Some((client, self.runtime.spawn(connection))));
        Ok(())
    }

    fn disconnect(&self) {
        if let Some((_, driver)) = self.client.take() {
            driver.abort();
        }
    }

    /// The answer of statements that are sent; in time, or the connection is given up.
    fn answered<T>(&self, ask: impl AsyncFnOnce(&Client) -> std::result::Result<T, Error>) -> Result<T> {
        let answer = {
            let client = self.client.borrow();
            let Some((client, _)) = client.as_ref() else { return Err(self.silent()) };
            self.runtime
                .block_on(async { tokio::time::timeout(2 * self.limits.statement, ask(client)).await })
        };
        match answer {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(self.failed(&error)),
            Err(_) => {
                self.disconnect();
                Err(self.silent())
            }
        }
    }

    fn failed(&self, error: &Error) -> StoreError {
        let failure = match error.code() {
            Some(
                &SqlState::T_R_SERIALIZATION_FAILURE
                | &SqlState::T_R_DEADLOCK_DETECTED
                | &SqlState::UNIQUE_VIOLATION,
            ) => Failure::Conflict,
            // Postgres is being stopped or started.
            Some(&SqlState::ADMIN_SHUTDOWN | &SqlState::CRASH_SHUTDOWN | &SqlState::CANNOT_CONNECT_NOW)
            | None => Failure::Lost,
            Some(_) => Failure::Refused,
        };
        self.fails(failure);
        StoreError::Unavailable(format!("{}: {}", self.address, said(error)))
    }

    fn silent(&self) -> StoreError {
        self.fails(Failure::Lost);
        StoreError::Unavailable(format!("{} doesn't answer", self.address))
    }

    /// Notes the first failure of a transaction.
    fn fails(&self, failure: Failure) {
        self.failure.set(self.failure.get().or(Some(failure)));
    }
}

/// What the database, or the way to it, says in one line.
fn said(error: &Error) -> String {
    let mut said = match error.as_db_error() {
        Some(error) => return format!("{} ({})", error.message(), error.code().code()),
        None => error.to_string(),
    };
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        let _ = write!(said, ": {error}");
        cause = error.source();
    }
    if said.ends_with("password missing") {
        said.push_str(" (give it as PGPASSWORD, or by --store-password-file)");
    }
    said
}

/// A parameter as it is sent.
enum Parameter<'a> {
    Null(Option<&'a str>),
    Int(i64),
    Text(&'a str),
    Bytes(&'a [u8]),
}

impl<'a> Parameter<'a> {
    fn of(value: &Value<'a>) -> Self {
        match *value {
            // No stored text has a NUL, so this one equals none.
            Value::Text(text) if text.contains('\0') => Self::Null(None),
            Value::Null => Self::Null(None),
            Value::Int(number) => Self::Int(number),
            Value::Text(text) => Self::Text(text),
            Value::Bytes(bytes) => Self::Bytes(bytes),
        }
    }

    fn typed(&self) -> (&(dyn ToSql + Sync), Type) {
        match self {
            Self::Null(null) => (null, Type::UNKNOWN),
            Self::Int(number) => (number, Type::INT8),
            Self::Text(text) => (text, Type::TEXT),
            Self::Bytes(bytes) => (bytes, Type::BYTEA),
        }
    }
}

/// SQLite's statement as Postgres reads it: parameters have numbers behind `$`, no index is named, and
/// the order of a join isn't prescribed.
fn translated(sql: &str) -> String {
    let mut translated = String::with_capacity(sql.len() + 8);
    let mut number = 0_u32;
    let mut rest = sql;
    while let Some(at) = rest.find('?') {
        let (before, behind) = rest.split_at(at);
        let digits = behind[1..].bytes().take_while(u8::is_ascii_digit).count();
        number = behind[1..=digits].parse().unwrap_or(number + 1);
        let _ = write!(translated, "{before}${number}");
        rest = &behind[1 + digits..];
    }
    translated.push_str(rest);
    while let Some(at) = translated.find(" INDEXED BY ") {
        let name = at + " INDEXED BY ".len();
        let end = translated[name..].find([' ', ')']).map_or(translated.len(), |end| name + end);
        translated.replace_range(at..end, "");
    }
    translated.replace("CROSS JOIN", "JOIN")
}

impl Columns for tokio_postgres::Row {
    fn int(&self, column: usize) -> Result<Option<i64>> {
        let read = match self.columns().get(column).map(tokio_postgres::Column::type_) {
            Some(&Type::BOOL) => self.try_get::<_, Option<bool>>(column).map(|value| value.map(i64::from)),
            Some(&Type::INT4) => self.try_get::<_, Option<i32>>(column).map(|value| value.map(i64::from)),
            _ => self.try_get(column),
        };
        read.map_err(|e| unreadable(&e))
    }

    fn text(&self, column: usize) -> Result<Option<String>> {
        self.try_get(column).map_err(|e| unreadable(&e))
    }

    fn bytes(&self, column: usize) -> Result<Option<Vec<u8>>> {
        self.try_get(column).map_err(|e| unreadable(&e))
    }
}

fn unreadable(error: &Error) -> StoreError {
    StoreError::Unavailable(said(error))
}

impl Database for Rc<Connection> {
    fn run(&self, sql: &str, params: &[Value<'_>]) -> Result<u64> {
        let params: Vec<_> = params.iter().map(Parameter::of).collect();
        let params: Vec<_> = params.iter().map(Parameter::typed).collect();
        self.answered(async |client| client.execute_typed(&translated(sql), &params).await)
    }

    /// All are sent before the first is answered.
    fn run_each(&self, sql: &str, rows: &[Vec<Value<'_>>]) -> Result<()> {
        let sql = translated(sql);
        let rows: Vec<Vec<_>> = rows.iter().map(|row| row.iter().map(Parameter::of).collect()).collect();
        let rows: Vec<Vec<_>> = rows.iter().map(|row| row.iter().map(Parameter::typed).collect()).collect();
        self.answered(async |client| {
            try_join_all(rows.iter().map(|row| client.execute_typed(&sql, row))).await.map(|_| ())
        })
    }

    fn query(&self, sql: &str, params: &[Value<'_>], each: &mut EachRow<'_>) -> Result<()> {
        let params: Vec<_> = params.iter().map(Parameter::of).collect();
        let params: Vec<_> = params.iter().map(Parameter::typed).collect();
        let rows = self.answered(async |client| client.query_typed(&translated(sql), &params).await)?;
        for row in &rows {
            if !each(&Row(row))? {
                break;
            }
        }
        Ok(())
    }

    fn locking(&self, others: Others) -> &'static str {
        match others {
            _ if self.reads.get() => "",
            Others::Wait => " FOR UPDATE",
            Others::Skip => " FOR UPDATE SKIP LOCKED",
        }
    }

    fn lock_owner(&self, key: i64) -> Result<OwnerLock> {
        match self.locked.get() {
            Locked::All => Ok(OwnerLock::Held),
            Locked::One(held) if held == key => Ok(OwnerLock::Held),
            Locked::One(_) => Ok(OwnerLock::Another),
            Locked::None => {
                self.run("SELECT key FROM owner WHERE key = ? FOR UPDATE", &[Value::Int(key)])?;
                self.locked.set(Locked::One(key));
                Ok(OwnerLock::Taken)
            }
        }
    }

    fn bytes(&self) -> Result<u64> {
        let sql = "SELECT CAST(COALESCE(SUM(pg_total_relation_size(oid)), 0) AS bigint) FROM pg_class \
             WHERE relkind = 'r' AND relnamespace = to_regnamespace(quote_ident(current_schema()))";
        let mut bytes = 0;
        self.query(sql, &[], &mut |row| {
            bytes = row.get(0)?;
            Ok(false)
        })?;
        Ok(bytes)
    }

    /// What Postgres checks by itself.
    fn damages(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    /// Autovacuum's work.
    fn shrink(&self) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::translated;

    #[test]
    fn statements_of_sqlite_are_read_as_they_are_meant() {
        let sqlite = "SELECT a FROM t INDEXED BY t_a CROSS JOIN u ON u.a = t.a WHERE b = ? AND c = ?7 AND d IN (SELECT d FROM v INDEXED BY v_d) AND e = ?";
        let postgres = "SELECT a FROM t JOIN u ON u.a = t.a WHERE b = $1 AND c = $7 AND d IN (SELECT d FROM v) AND e = $8";
        assert_eq!(translated(sqlite), postgres);
    }
}

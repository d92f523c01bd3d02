//! What a transaction asks of its database: statements with parameters, and rows. SQL is written once,
//! as SQLite reads it, in what both databases have; a database that reads something else otherwise
//! says so where it is opened.

use crate::{Result, StoreError};

/// A parameter of a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    Null,
    Int(i64),
    Text(&'a str),
    Bytes(&'a [u8]),
}

/// The parameters of a statement, each anything that is a [`Value`].
macro_rules! params {
    ($($value:expr),* $(,)?) => { &[$($crate::sql::database::Value::from($value)),*] };
}
pub(crate) use params;

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

/// A number from outside that is larger than a database's is behind everything.
impl From<u64> for Value<'_> {
    fn from(number: u64) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<usize> for Value<'_> {
    fn from(number: usize) -> Self {
        Self::from(number as u64)
    }
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Self::Int(value.into())
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Bytes(bytes)
    }
}

impl<T: Into<Self>> From<Option<T>> for Value<'_> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// The columns of a row, each as what it is read as.
pub(crate) trait Columns {
    fn int(&self, column: usize) -> Result<Option<i64>>;
    fn text(&self, column: usize) -> Result<Option<String>>;
    fn bytes(&self, column: usize) -> Result<Option<Vec<u8>>>;
}

/// A row that was found.
pub(crate) struct Row<'a>(pub(crate) &'a dyn Columns);

impl Row<'_> {
    pub(crate) fn get<T: Column>(&self, column: usize) -> Result<T> {
        T::read(self.0, column)?.ok_or_else(|| unexpected("NULL"))
    }
}

/// A value of a column.
pub(crate) trait Column: Sized {
    /// None for NULL, where that is no value of it.
    fn read(row: &dyn Columns, column: usize) -> Result<Option<Self>>;
}

impl Column for i64 {
    fn read(row: &dyn Columns, column: usize) -> Result<Option<Self>> {
        row.int(column)
    }
}

impl Column for u64 {
    fn read(row: &dyn Columns, column: usize) -> Result<Option<Self>> {
        let number = row.int(column)?;
        number.map(|n| Self::try_from(n).map_err(|_| unexpected("a negative number"))).transpose()
    }
}

impl Column for bool {
    fn read(row: &dyn Columns, column: usize) -> Result<Option<Self>> {
        Ok(row.int(column)?.map(|number| number != 0))
    }
}

impl Column for String {
    fn read(row: &dyn Columns, column: usize) -> Result<Option<Self>> {
        row.text(column)
    }
}

impl Column for Vec<u8> {
    fn read(row: &dyn Columns, column: usize) -> Result<Option<Self>> {
        row.bytes(column)
    }
}

impl<T: Column> Column for Option<T> {
    fn read(row: &dyn Columns, column: usize) -> Result<Option<Self>> {
        T::read(row, column).map(Some)
    }
}

fn unexpected(what: &str) -> StoreError {
    StoreError::Unavailable(format!("a stored column has {what}: run store check"))
}

/// What is done with each row; false ends the reading.
pub(crate) type EachRow<'a> = dyn FnMut(&Row<'_>) -> Result<bool> + 'a;

/// What becomes of a row that another transaction has locked.
#[derive(Clone, Copy)]
pub(crate) enum Others {
    /// It is waited for.
    Wait,
    /// It isn't found.
    Skip,
}

/// An owner's lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnerLock {
    /// The transaction has it: what it read is as it was.
    Held,
    /// The transaction has it since now: what it read before may have changed.
    Taken,
    /// The transaction has another owner's: with both, two transactions would wait for each other.
    Another,
}

/// A connection to a database, in a transaction.
pub(crate) trait Database {
    /// Runs a statement. Returns how many rows it changed.
    fn run(&self, sql: &str, params: &[Value<'_>]) -> Result<u64>;
    /// Runs a statement once with each of these parameters.
    fn run_each(&self, sql: &str, rows: &[Vec<Value<'_>>]) -> Result<()>;
    /// Reads rows.
    fn query(&self, sql: &str, params: &[Value<'_>], each: &mut EachRow<'_>) -> Result<()>;
    /// What is appended to a query whose rows nobody else changes from then on, until the transaction
    /// ends. Nothing in one that only reads.
    fn locking(&self, others: Others) -> &'static str;
    /// Takes an owner's lock, under which everything is done that changes more than one row.
    fn lock_owner(&self, key: i64) -> Result<OwnerLock>;
    /// Bytes of the database that are in use.
    fn bytes(&self) -> Result<u64>;
    /// What is damaged below the tables: a line each.
    fn damages(&self) -> Result<Vec<String>>;
    /// Gives room back that was removed, where that isn't the database's own work.
    fn shrink(&self) -> Result<()>;
}

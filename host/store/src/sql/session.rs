//! A connection with what transactions need beside it: bounds, the moment, the host's name.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, PoisonError};

use super::database::{Database, Others, Row, Value};
use crate::bounds::millis;
use crate::clock::Moment;
use crate::{Bounds, Evicted, Millis, Result, StoreError};

/// A thread's connection, and the transaction that it is in.
pub struct Session {
    pub(crate) database: Box<dyn Database>,
    pub(crate) bounds: Bounds,
    /// When the transaction under way happens.
    pub(crate) moment: Cell<Moment>,
    /// The host that makes the transaction under way.
    pub(crate) host: RefCell<Arc<str>>,
    /// Bytes of everybody's that the last change lacked.
    pub(crate) lacking: Cell<u64>,
    /// Whether the transaction under way was made before, and it isn't known whether that was committed.
    pub(crate) is_repeated: Cell<bool>,
    /// What the transaction under way has evicted.
    pub(crate) evicting: Cell<Evicted>,
    /// What was evicted by all that were committed.
    evicted: Arc<Mutex<Evicted>>,
}

impl Session {
    pub(crate) fn new(database: Box<dyn Database>, bounds: Bounds, evicted: Arc<Mutex<Evicted>>) -> Self {
        Self {
            database,
            bounds,
            moment: Cell::default(),
            host: RefCell::default(),
            lacking: Cell::default(),
            is_repeated: Cell::default(),
            evicting: Cell::default(),
            evicted,
        }
    }

    /// Runs a statement. Returns how many rows it changed.
    pub(crate) fn run(&self, sql: &str, params: &[Value<'_>]) -> Result<u64> {
        self.database.run(sql, params)
    }

    /// Runs a statement once with each of these parameters.
    pub(crate) fn run_each(&self, sql: &str, rows: &[Vec<Value<'_>>]) -> Result<()> {
        self.database.run_each(sql, rows)
    }

    /// The first row.
    pub(crate) fn first<T>(
        &self,
        sql: &str,
        params: &[Value<'_>],
        read: impl Fn(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let mut first = None;
        self.database.query(sql, params, &mut |row| {
            first = Some(read(row)?);
            Ok(false)
        })?;
        Ok(first)
    }

    /// The first row, which nobody else changes before this transaction ends.
    pub(crate) fn first_locked<T>(
        &self,
        sql: &str,
        params: &[Value<'_>],
        read: impl Fn(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        self.first(&format!("{sql}{}", self.database.locking(Others::Wait)), params, read)
    }

    /// The one number of a query that always has one.
    pub(crate) fn number(&self, sql: &str, params: &[Value<'_>]) -> Result<u64> {
        let number = self.first(sql, params, |row| row.get(0))?;
        number.ok_or_else(|| StoreError::Unavailable("a count has no row".to_owned()))
    }

    /// All rows.
    pub(crate) fn all<T>(
        &self,
        sql: &str,
        params: &[Value<'_>],
        read: impl Fn(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut all = Vec::new();
        self.database.query(sql, params, &mut |row| {
            all.push(read(row)?);
            Ok(true)
        })?;
        Ok(all)
    }

    /// Counts what the transaction under way evicts.
    pub(crate) fn count(&self, evicted: Evicted) {
        let mut all = self.evicting.get();
        all += evicted;
        self.evicting.set(all);
    }

    /// Adds what was evicted, once that is committed.
    pub(crate) fn committed(&self) {
        *self.evicted.lock().unwrap_or_else(PoisonError::into_inner) += self.evicting.take();
    }

    /// What was evicted by all transactions that were committed.
    pub(crate) fn evicted(&self) -> Evicted {
        *self.evicted.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// What a call that may have been committed before found gone: its own doing.
    pub(crate) fn gone(&self, result: Result<()>) -> Result<()> {
        match result {
            Err(StoreError::NotFound) if self.is_repeated.get() => Ok(()),
            result => result,
        }
    }
}

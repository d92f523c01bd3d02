//! Opens a database: its schema, migrations, and the threads with the connections.

use std::rc::Rc;
use std::sync::{Arc, Mutex, mpsc};

use super::address::Address;
use super::connection::{Access, Connection};
use super::threads::{Connected, Outage, serve};
use super::{Opened, PostgresOptions, TimeLimits};
use crate::sql::database::params;
use crate::sql::queue::Queue;
use crate::sql::session::Session;
use crate::sql::transactions::Scope;
use crate::{Bounds, Evicted, OpenCause, OpenError, SchemaVersions, StoreError, TimeSource};

/// Migration N brings a schema N-1 to schema N, and says in table `schema` since which version its
/// statements are good: what a version before it reads and writes may go in a later one only. A released
/// one is never edited.
const MIGRATIONS: [&str; 2] =
    [include_str!("../../migrations/postgres/001.sql"), include_str!("../../migrations/postgres/002.sql")];
/// The oldest version whose statements the tables still serve.
const READABLE_SINCE: usize = 1;

/// Number of the advisory lock under which schemas are changed: "Slui".
const LOCK: i64 = 0x536c_7569;

/// What each thread needs.
#[derive(Clone)]
struct Parts {
    address: Address,
    bounds: Bounds,
    clock: TimeSource,
    evicted: Arc<Mutex<Evicted>>,
    outage: Arc<Outage>,
    limits: TimeLimits,
}

impl Parts {
    fn of(url: &str, options: &PostgresOptions) -> Result<Self, OpenError> {
        let address = Address::read(url, &options.schema, options.tls.as_deref())?;
        Ok(Self {
            address: address.with_password(options.password.as_deref()),
            bounds: options.bounds.clone(),
            clock: options.clock.clone(),
            evicted: Arc::default(),
            outage: Arc::default(),
            limits: options.limits(),
        })
    }

    /// The calling thread's connection.
    fn connected(self) -> std::io::Result<Connected> {
        let connection = Rc::new(Connection::new(self.address, self.clock, self.limits)?);
        let session = Session::new(Box::new(connection.clone()), self.bounds, self.evicted);
        Ok(Connected { connection, session, outage: self.outage })
    }
}

/// The version of a database's schema; 0 where it has none. Nothing is made or changed.
pub(super) fn version(url: &str, options: &PostgresOptions) -> Result<usize, OpenError> {
    let parts = Parts::of(url, options)?;
    let shown = parts.address.to_string();
    // On a thread of its own, which may wait for the database whoever asks.
    let asked = std::thread::spawn(move || -> Result<Result<[usize; 2], String>, StoreError> {
        let thread = parts.connected().map_err(|error| StoreError::Unavailable(error.to_string()))?;
        thread.connection.begin(&Access::Read)?;
        found(&thread)
    });
    match asked.join().unwrap_or_else(|_| Err(StoreError::Unavailable("a thread panicked".to_owned()))) {
        Ok(Ok([version, _])) => Ok(version),
        Ok(Err(why)) => Err(OpenError::new(OpenCause::Content, &shown, why)),
        Err(error) => Err(unreachable(&shown, &error)),
    }
}

/// Why a database can't be reached, which its address is said before.
fn unreachable(shown: &str, error: &StoreError) -> OpenError {
    let why = match error {
        StoreError::Unavailable(why) => why.strip_prefix(&format!("{shown}: ")).unwrap_or(why).to_owned(),
        other => other.to_string(),
    };
    OpenError::new(OpenCause::Unreachable, shown, why)
}

impl Opened {
    pub(super) fn open(url: &str, options: &PostgresOptions) -> Result<Self, OpenError> {
        let parts = Parts::of(url, options)?;
        let shown = parts.address.to_string();
        let failed = |e: &dyn std::fmt::Display| OpenError::new(OpenCause::Unreachable, &shown, e);
        let queue = Queue::new();
        let (migrated, schema) = mpsc::sync_channel(1);
        let mut threads = Vec::new();
        for number in 0..options.connections.max(1) {
            let (queue, parts) = (queue.clone(), parts.clone());
            // The first one brings the schema up to date before it serves.
            let migrated = (number == 0).then(|| migrated.clone());
            let thread = std::thread::Builder::new().name("store-postgres".to_owned());
            let thread = thread.spawn(move || match parts.connected() {
                Ok(thread) => {
                    if let Some(migrated) = migrated {
                        let _ = migrated.send(migrate(&thread));
                    }
                    serve(&queue, &thread, number == 0);
                }
                Err(error) => {
                    let error = StoreError::Unavailable(error.to_string());
                    let _ = migrated.map(|migrated| migrated.send(Err(error)));
                }
            });
            threads.push(thread.map_err(|e| failed(&e))?);
        }
        let none = SchemaVersions { before: 0, now: 0 };
        let mut opened = Self { queue, threads, schema: none, limits: options.limits() };
        opened.schema = match schema.recv() {
            Ok(Ok(Ok(schema))) => schema,
            Ok(Ok(Err(why))) => return Err(OpenError::new(OpenCause::Content, &shown, why)),
            Ok(Err(error)) => return Err(unreachable(&shown, &error)),
            Err(error) => return Err(failed(&error)),
        };
        Ok(opened)
    }
}

/// Brings a schema to the newest version, in one transaction that others wait for. Says why it can't
/// where a later version has changed it beyond what this one reads.
fn migrate(thread: &Connected) -> Result<Result<SchemaVersions, String>, StoreError> {
    thread.connection.begin(&Access::Write(Scope::Row))?;
    match migrate_in(thread) {
        Ok(Ok(schema)) => thread.connection.commit().map(|()| Ok(schema)),
        other => {
            thread.connection.roll_back();
            other
        }
    }
}

fn migrate_in(thread: &Connected) -> Result<Result<SchemaVersions, String>, StoreError> {
    let connection = &thread.connection;
    connection.execute(&format!("SELECT pg_advisory_xact_lock({LOCK})"))?;
    let before = match found(thread)? {
        Ok(before) => before,
        Err(why) => return Ok(Err(why)),
    };
    let [version, readable] = before;
    if version == 0 {
        connection.execute(&format!("CREATE SCHEMA IF NOT EXISTS {}", connection.schema()))?;
    }
    let newest = MIGRATIONS.len();
    if readable > newest {
        return Ok(Err(format!(
            "it has schema {version}, which versions that know schema {readable} read, and this one knows schemas up to {newest}; use a newer version"
        )));
    }
    for migration in MIGRATIONS.iter().skip(version) {
        connection.execute(migration)?;
    }
    if version < newest {
        connection.execute(&format!(
            "DELETE FROM schema; INSERT INTO schema (version, readable_since) VALUES ({newest}, {READABLE_SINCE})"
        ))?;
    }
    Ok(Ok(SchemaVersions { before: version, now: version.max(newest) }))
}

/// The version of a schema, and the oldest one whose statements it serves; 0 where there is none. Says
/// why it isn't a store's.
fn found(thread: &Connected) -> Result<Result<[usize; 2], String>, StoreError> {
    let (schema, session) = (thread.connection.schema(), &thread.session);
    let has_tables = "SELECT COUNT(*) FROM pg_class WHERE relnamespace = to_regnamespace(?1)";
    let is_store = format!("{has_tables} AND relname = 'schema'");
    if session.number(has_tables, params![schema])? == 0 {
        return Ok(Ok([0, 0]));
    }
    if session.number(&is_store, params![schema])? == 0 {
        return Ok(Err(format!("schema {schema} has other tables than a store's; give another database")));
    }
    // By its full name: who may not use it is told so.
    let versions = format!("SELECT version, readable_since FROM {schema}.schema");
    let found = session.first(&versions, &[], |row| Ok([row.get::<u64>(0)?, row.get(1)?]))?;
    Ok(Ok(found.unwrap_or_default().map(|number| usize::try_from(number).unwrap_or(usize::MAX))))
}

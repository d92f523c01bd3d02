//! Opens a database: its schema, migrations, and the threads with the connections.

use std::rc::Rc;
use std::sync::{Arc, Mutex, mpsc};

use super::address::Address;
use super::connection::{Access, Connection};
use super::threads::{Connected, Outage, serve};
use super::{Opened, PostgresOptions, TimeLimits};
use crate::sql::database::{Database, Value};
use crate::sql::queue::Queue;
use crate::sql::session::Session;
use crate::sql::transactions::Scope;
use crate::{Bounds, Evicted, OpenCause, OpenError, SchemaVersions, StoreError, TimeSource};

/// Migration N brings a schema N-1 to schema N, and says in table `schema` since which version its
/// statements are good: what a version before it reads and writes may go in a later one only. A released
/// one is never edited.
const MIGRATIONS: [&str; 1] = [include_str!("../../migrations/postgres/001.sql")];
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
        let address = Address::read(url, &options.schema, &options.tls)?;
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
        found(&thread.connection)
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
                        let _ = migrated.send(migrate(&thread.connection));
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
fn migrate(connection: &Rc<Connection>) -> Result<Result<SchemaVersions, String>, StoreError> {
    connection.begin(&Access::Write(Scope::Row))?;
    let migrated = migrate_in(connection);
    match migrated {
        Ok(Ok(schema)) => connection.commit().map(|()| Ok(schema)),
        other => {
            connection.roll_back();
            other
        }
    }
}

fn migrate_in(connection: &Rc<Connection>) -> Result<Result<SchemaVersions, String>, StoreError> {
    connection.execute(&format!("SELECT pg_advisory_xact_lock({LOCK})"))?;
    let before = match found(connection)? {
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
fn found(connection: &Rc<Connection>) -> Result<Result<[usize; 2], String>, StoreError> {
    let schema = connection.schema();
    let has_tables = "SELECT COUNT(*) FROM pg_class WHERE relnamespace = to_regnamespace(?1)";
    let is_store = format!("{has_tables} AND relname = 'schema'");
    let mut found = [0, 0];
    if number(connection, has_tables, &[Value::Text(schema)])? == 0 {
        return Ok(Ok(found));
    }
    if number(connection, &is_store, &[Value::Text(schema)])? == 0 {
        return Ok(Err(format!("schema {schema} has other tables than a store's; give another database")));
    }
    // By its full name: who may not use it is told so.
    connection.query(&format!("SELECT version, readable_since FROM {schema}.schema"), &[], &mut |row| {
        found = [row.get::<u64>(0)?, row.get::<u64>(1)?].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        Ok(false)
    })?;
    Ok(Ok(found))
}

fn number(connection: &Rc<Connection>, sql: &str, params: &[Value<'_>]) -> Result<u64, StoreError> {
    let mut number = 0;
    connection.query(sql, params, &mut |row| {
        number = row.get(0)?;
        Ok(false)
    })?;
    Ok(number)
}

//! The store on Postgres, which any number of hosts share. Threads have a connection each; what differs
//! from SQLite is in what they do before and behind the shared transactions: an owner's lock, the
//! database's clock, and calls that are made again.

mod address;
mod connection;
mod open;
mod threads;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::sql::queue::Queue;
use crate::sql::session::Session;
use crate::sql::transactions::{Scope, Tables};
use crate::{Bounds, OpenError, SchemaVersions, StoreError, TimeSource};
use connection::Access;
use threads::Kind;

/// Times within which a server's calls are answered, whatever the database does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeLimits {
    /// Of a statement.
    pub(crate) statement: Duration,
    /// Of a call, with all that it waits for.
    call: Duration,
}

const LIMITS: TimeLimits = TimeLimits { statement: Duration::from_secs(10), call: Duration::from_secs(30) };
/// An operator's calls read everything that is stored, and may take hours.
const NO_LIMITS: TimeLimits =
    TimeLimits { statement: Duration::from_hours(24), call: Duration::from_hours(24) };

/// How a store on Postgres is opened.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    /// This host's name in leases.
    pub host: String,
    /// How much is stored and for how long.
    pub bounds: Bounds,
    /// The database's clock, unless a test sets one.
    pub clock: TimeSource,
    /// Schema of the database that has the tables; made if it isn't there.
    pub schema: String,
    /// The password, where the URL has none.
    pub password: Option<String>,
    /// Connections at most.
    pub connections: usize,
    /// Whether calls are given up after a time: a server's, not an operator's.
    pub is_limited: bool,
    /// What TLS trusts; none where only a database on this machine is opened.
    pub tls: Option<Arc<rustls::ClientConfig>>,
}

/// A host's handle of a store in a Postgres database. Dropping the last one makes the calls that wait.
pub struct Postgres {
    host: Arc<str>,
    opened: Arc<Opened>,
}

impl PostgresOptions {
    fn limits(&self) -> TimeLimits {
        if self.is_limited { LIMITS } else { NO_LIMITS }
    }
}

/// The threads that have the connections.
struct Opened {
    queue: Arc<Queue<Kind>>,
    threads: Vec<JoinHandle<()>>,
    schema: SchemaVersions,
    limits: TimeLimits,
}

impl Postgres {
    /// Opens the database at a URL (`postgres://USER@HOST/DATABASE`), and brings its schema to the newest
    /// version.
    pub fn open(url: &str, options: &PostgresOptions) -> Result<Self, OpenError> {
        let opened = Opened::open(url, options)?;
        Ok(Self { host: (&*options.host).into(), opened: Arc::new(opened) })
    }

    /// The version of a database's schema; 0 where it has none. Nothing is made or changed.
    pub fn version(url: &str, options: &PostgresOptions) -> Result<usize, OpenError> {
        open::version(url, options)
    }

    /// The handle of another host, as hosts of one database have them.
    #[must_use]
    pub fn beside(&self, host: &str) -> Self {
        Self { host: host.into(), opened: self.opened.clone() }
    }

    /// The schema of its database, before it was opened and since.
    pub fn schema(&self) -> SchemaVersions {
        self.opened.schema
    }
}

/// The queue of an open database, and the host that calls.
#[derive(Clone)]
pub struct Pool {
    host: Arc<str>,
    queue: Arc<Queue<Kind>>,
    limits: TimeLimits,
}

impl Tables for Postgres {
    type Calls = Pool;

    fn calls(&self) -> Pool {
        Pool { host: self.host.clone(), queue: self.opened.queue.clone(), limits: self.opened.limits }
    }
}

impl Pool {
    async fn call<T: Send + 'static>(
        self,
        access: Access,
        work: impl Fn(&Session) -> crate::Result<T> + Send + 'static,
    ) -> crate::Result<T> {
        let kind = Kind { host: self.host, access };
        let late = |_| Err(StoreError::Unavailable("Postgres doesn't answer".to_owned()));
        tokio::time::timeout(self.limits.call, self.queue.call(kind, work)).await.unwrap_or_else(late)
    }
}

impl crate::sql::transactions::Transactor for Pool {
    fn write<T: Send + 'static>(
        &self,
        scope: Scope,
        work: impl Fn(&Session) -> crate::Result<T> + Send + 'static,
    ) -> impl Future<Output = crate::Result<T>> + Send + 'static {
        self.clone().call(Access::Write(scope), work)
    }

    fn read<T: Send + 'static>(
        &self,
        work: impl Fn(&Session) -> crate::Result<T> + Send + 'static,
    ) -> impl Future<Output = crate::Result<T>> + Send + 'static {
        self.clone().call(Access::Read, work)
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.queue.close();
        for thread in self.threads.drain(..) {
            // A thread that panicked has answered all callers.
            let _ = thread.join();
        }
    }
}

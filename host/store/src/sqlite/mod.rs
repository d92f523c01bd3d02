//! The store on SQLite: one writer's thread with grouped commits, readers with connections of their
//! own. In memory, the writer reads, too.

mod connection;
mod open;
mod open_file;
mod threads;

use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crate::sql::queue::Queue;
use crate::sql::session::Session;
use crate::sql::transactions::{Scope, Tables, Transactor};
use crate::{Bounds, Evicted, OpenCause, OpenError, SchemaVersions, TimeSource};
use open::Locks;
use open_file::OpenFile;
use threads::Connected;

pub use open::{backup, is_in_use};

const READERS: usize = 2;

/// What a commit is safe against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// The end of the process, at any moment.
    #[default]
    Normal,
    /// The end of power, too; a commit waits for the disk.
    Full,
}

impl Synchronous {
    fn pragma(self) -> &'static str {
        match self {
            Synchronous::Normal => "NORMAL",
            Synchronous::Full => "FULL",
        }
    }
}

/// How a store is opened.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// This host's name in leases.
    pub host: String,
    /// How much is stored and for how long.
    pub bounds: Bounds,
    /// What time it is.
    pub clock: TimeSource,
    /// What a commit is safe against.
    pub synchronous: Synchronous,
}

/// A host's handle of a store in a SQLite database. Dropping the last one makes the calls that wait,
/// and closes the file.
pub struct Sqlite {
    host: Arc<str>,
    opened: Arc<Opened>,
}

/// An open database and the threads that use it.
struct Opened {
    writer: Arc<Queue<Arc<str>>>,
    reader: Arc<Queue<Arc<str>>>,
    threads: Vec<JoinHandle<()>>,
    /// Locks on the file, held until the threads have ended.
    locks: Option<Locks>,
    /// The database's file; none in memory.
    file: Option<Arc<OpenFile>>,
    schema: SchemaVersions,
    evicted: Arc<Mutex<Evicted>>,
}

impl Sqlite {
    /// Opens a file, which is created if it doesn't exist, and brings it to the newest schema.
    pub fn open(path: &Path, options: &Options) -> Result<Self, OpenError> {
        Opened::file(path, options).map(|opened| Self::of(opened, &options.host))
    }

    /// A store in memory, with the same bounds.
    pub fn memory(options: &Options) -> Result<Self, OpenError> {
        Opened::memory(options).map(|opened| Self::of(opened, &options.host))
    }

    fn of(opened: Opened, host: &str) -> Self {
        Self { host: host.into(), opened: Arc::new(opened) }
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

/// The queues of an open database, and the host that calls.
#[derive(Clone)]
pub struct Queues {
    host: Arc<str>,
    writer: Arc<Queue<Arc<str>>>,
    reader: Arc<Queue<Arc<str>>>,
}

impl Tables for Sqlite {
    type Calls = Queues;

    fn calls(&self) -> Queues {
        let Opened { writer, reader, .. } = &*self.opened;
        Queues { host: self.host.clone(), writer: writer.clone(), reader: reader.clone() }
    }
}

impl Transactor for Queues {
    /// The writer makes one call at a time, so no scope needs a lock, and none is made twice.
    fn write<T: Send + 'static>(
        &self,
        _: Scope,
        work: impl Fn(&Session) -> crate::Result<T> + Send + 'static,
    ) -> impl Future<Output = crate::Result<T>> + Send + 'static {
        self.writer.clone().call(self.host.clone(), work)
    }

    fn read<T: Send + 'static>(
        &self,
        work: impl Fn(&Session) -> crate::Result<T> + Send + 'static,
    ) -> impl Future<Output = crate::Result<T>> + Send + 'static {
        self.reader.clone().call(self.host.clone(), work)
    }
}

impl Opened {
    fn file(path: &Path, options: &Options) -> Result<Self, OpenError> {
        let (locks, file) = open::lock(path)?;
        let failed = |e: std::io::Error| OpenError::new(OpenCause::Unreachable, path.display(), e);
        let (connection, schema) = open::writer(Some(&file), options.synchronous, options.clock.moment())?;
        let open = Arc::new(OpenFile::new(file.clone()).map_err(failed)?);
        let mut store = Self::start(connection, schema, options, Some(open)).map_err(failed)?;
        store.locks = Some(locks);
        store.reader = Queue::new();
        for _ in 0..READERS {
            let connection = open::reader(&file).map_err(|e| OpenError::sqlite(path.display(), &e))?;
            store
                .spawn("store-reader", store.reader.clone(), connection, options, threads::read)
                .map_err(failed)?;
        }
        Ok(store)
    }

    fn memory(options: &Options) -> Result<Self, OpenError> {
        let (connection, schema) = open::writer(None, options.synchronous, options.clock.moment())?;
        Self::start(connection, schema, options, None)
            .map_err(|e| OpenError::new(OpenCause::Unreachable, "memory", e))
    }

    fn start(
        connection: rusqlite::Connection,
        schema: SchemaVersions,
        options: &Options,
        file: Option<Arc<OpenFile>>,
    ) -> std::io::Result<Self> {
        let writer = Queue::new();
        let mut store = Self {
            reader: writer.clone(),
            writer: writer.clone(),
            threads: Vec::new(),
            locks: None,
            file,
            schema,
            evicted: Arc::default(),
        };
        store.spawn("store-writer", writer, connection, options, threads::write)?;
        Ok(store)
    }

    fn spawn(
        &mut self,
        name: &str,
        queue: Arc<Queue<Arc<str>>>,
        connection: rusqlite::Connection,
        options: &Options,
        run: fn(&Queue<Arc<str>>, &Connected),
    ) -> std::io::Result<()> {
        let (bounds, clock) = (options.bounds.clone(), options.clock.clone());
        let (file, evicted) = (self.file.clone(), self.evicted.clone());
        let thread = std::thread::Builder::new().name(name.to_owned());
        self.threads.push(thread.spawn(move || {
            let connection = Rc::new(connection);
            let session = Session::new(Box::new(connection.clone()), bounds, evicted);
            run(&queue, &Connected { connection, session, clock, file });
        })?);
        Ok(())
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.reader.close();
        self.writer.close();
        for thread in self.threads.drain(..) {
            // A thread that panicked has answered all callers.
            let _ = thread.join();
        }
        for lock in self.locks.iter().flatten() {
            // Not by closing alone: a process that is being started holds the file, too, until it
            // runs its program.
            let _ = lock.unlock();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::sql::session::Session;
    use crate::sql::transactions::{Scope, Tables, Transactor};
    use crate::{Options, Sqlite, TimeSource};

    #[tokio::test]
    async fn transaction_has_one_moment_however_long_it_takes() {
        let clock = TimeSource::manual(1000);
        let store = Sqlite::memory(&Options { clock: clock.clone(), ..Options::default() }).unwrap();
        let moments = async || {
            let clock = clock.clone();
            let work = move |s: &Session| {
                let before = (s.now(), s.lease_now());
                clock.advance(Duration::from_secs(1));
                assert_eq!((s.now(), s.lease_now()), before);
                Ok(before)
            };
            store.calls().write(Scope::Row, work).await.unwrap()
        };
        assert_eq!([moments().await, moments().await], [(1000, 0), (2000, 1000)]);
    }
}

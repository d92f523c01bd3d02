//! The store on SQLite: one writer's thread with grouped commits, readers with connections of their
//! own. In memory, the writer reads, too.

mod background;
mod check;
mod completions;
mod context;
mod conversations;
mod evict;
mod garbage;
mod named;
mod open;
mod open_file;
mod queue;
mod read;
mod repeat;
mod responses;
mod row;
mod served;
mod session;
mod transactions;

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crate::{Bounds, Evicted, OpenCause, OpenError, TimeSource};
use open::Locks;
use open_file::OpenFile;
use queue::Queue;
use session::Session;

pub use open::{SchemaVersions, backup, is_in_use};

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
    writer: Arc<Queue>,
    reader: Arc<Queue>,
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
            let session = store.session(connection, options);
            store.spawn("store-reader", store.reader.clone(), session, queue::read).map_err(failed)?;
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
        let session = store.session(connection, options);
        store.spawn("store-writer", writer, session, queue::write)?;
        Ok(store)
    }

    fn session(&self, connection: rusqlite::Connection, options: &Options) -> Session {
        Session {
            connection,
            file: self.file.clone(),
            bounds: options.bounds.clone(),
            clock: options.clock.clone(),
            moment: Cell::default(),
            host: RefCell::default(),
            evicting: Cell::default(),
            evicted: self.evicted.clone(),
        }
    }

    fn spawn(
        &mut self,
        name: &str,
        queue: Arc<Queue>,
        session: Session,
        run: fn(&Queue, &Session),
    ) -> std::io::Result<()> {
        let thread = std::thread::Builder::new().name(name.to_owned());
        self.threads.push(thread.spawn(move || run(&queue, &session))?);
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

//! Calls to the threads that own the connections. The writer takes all calls that wait and commits
//! them together; each is in a savepoint, so that one that fails takes nothing from the others. A
//! call is answered after the commit.
//!
//! A caller that goes away changes nothing: a call that was queued is made. While there is none, the
//! writer brings what it committed from the write-ahead log into the file.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use rusqlite::Connection;

use super::connection::{empty_log, execute, page_bytes};
use super::open_file::OpenFile;
use crate::sql::garbage;
use crate::sql::session::Session;
use crate::{Result, StoreError, TimeSource};

/// Calls that wait at most; further callers wait for a place.
const WAITING: usize = 1024;
/// Calls in one commit, and the time after which it takes no more of them.
const GROUP: usize = 256;
const GROUP_TIME: Duration = Duration::from_millis(50);
/// Time without calls after which the writer empties the write-ahead log, so that nothing of what
/// was deleted stays in it.
const QUIET: Duration = Duration::from_secs(1);

type Boxed = Box<dyn Call>;

trait Call: Send {
    /// Makes the call. Returns whether it succeeded.
    fn run(&mut self, session: &Session) -> bool;
    /// Answers the caller; `lost` says why it wasn't made, or why a success wasn't committed.
    fn answer(self: Box<Self>, lost: Option<&StoreError>);
}

struct Pending<F, T> {
    work: Option<F>,
    result: Result<T>,
    answer: oneshot::Sender<Result<T>>,
    _place: OwnedSemaphorePermit,
}

impl<T: Send, F: FnOnce(&Session) -> Result<T> + Send> Call for Pending<F, T> {
    fn run(&mut self, session: &Session) -> bool {
        if let Some(work) = self.work.take() {
            self.result = work(session);
        }
        self.result.is_ok()
    }

    fn answer(self: Box<Self>, lost: Option<&StoreError>) {
        let result = match lost {
            // One that wasn't made has no error of its own.
            Some(error) if self.work.is_some() => Err(error.clone()),
            Some(error) => self.result.and(Err(error.clone())),
            None => self.result,
        };
        // The caller may have gone.
        let _ = self.answer.send(result);
    }
}

#[derive(Default)]
struct Calls {
    waiting: VecDeque<Boxed>,
    closed: bool,
}

/// A thread's connection, and what it looks at before transactions.
pub(crate) struct Connected {
    pub(crate) connection: Rc<Connection>,
    pub(crate) session: Session,
    pub(crate) clock: TimeSource,
    /// The database's file; none in memory.
    pub(crate) file: Option<Arc<OpenFile>>,
}

impl Connected {
    /// Begins a transaction with this statement, if the file is still there.
    fn begin(&self, sql: &str) -> Result<()> {
        if let Some(file) = &self.file {
            file.check(|| page_bytes(&self.connection))?;
        }
        self.tick();
        self.execute(sql)
    }

    /// Takes the clock's time for the transaction that begins.
    fn tick(&self) {
        self.session.moment.set(self.clock.moment());
    }

    fn execute(&self, sql: &str) -> Result<()> {
        execute(&self.connection, sql)
    }

    /// Notes what was committed.
    fn committed(&self) {
        if let Some(file) = &self.file {
            file.committed();
        }
        self.session.committed();
    }

    /// Forgets what the transaction under way would have evicted.
    fn roll_back(&self) {
        let _ = self.execute("ROLLBACK");
        self.session.evicting.take();
    }
}

/// A bounded queue of calls, shared by callers and threads.
pub(crate) struct Queue {
    calls: Mutex<Calls>,
    ready: Condvar,
    places: Arc<Semaphore>,
}

fn closed() -> StoreError {
    StoreError::Unavailable("it is closed".to_owned())
}

impl Queue {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            calls: Mutex::default(),
            ready: Condvar::new(),
            places: Arc::new(Semaphore::new(WAITING)),
        })
    }

    /// Has `work` made by a thread, and returns its result once it is committed.
    pub(crate) async fn call<T: Send + 'static>(
        self: Arc<Self>,
        work: impl FnOnce(&Session) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let place = self.places.clone().acquire_owned().await.map_err(|_| closed())?;
        let (answer, result) = oneshot::channel();
        let pending = Pending { work: Some(work), result: Err(closed()), answer, _place: place };
        {
            let mut calls = self.lock();
            if calls.closed {
                return Err(closed());
            }
            calls.waiting.push_back(Box::new(pending));
        }
        self.ready.notify_one();
        result.await.unwrap_or_else(|_| Err(closed()))
    }

    /// Takes no more calls; threads make those that wait and end.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.places.close();
        self.ready.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the thread has something else to do than garbage.
    fn is_waiting(&self) -> bool {
        let calls = self.lock();
        calls.closed || !calls.waiting.is_empty()
    }

    /// The next calls, at most `limit`; none once the queue is closed and empty.
    fn take(&self, limit: usize) -> VecDeque<Boxed> {
        let waits = |calls: &mut Calls| calls.waiting.is_empty() && !calls.closed;
        let mut calls = self.ready.wait_while(self.lock(), waits).unwrap_or_else(PoisonError::into_inner);
        let count = calls.waiting.len().min(limit);
        calls.waiting.drain(..count).collect()
    }

    /// Whether no call comes for a while.
    fn is_quiet(&self) -> bool {
        let waits = |calls: &mut Calls| calls.waiting.is_empty() && !calls.closed;
        let waited = self.ready.wait_timeout_while(self.lock(), QUIET, waits);
        waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }
}

/// Answers all who wait, should a thread panic.
struct CloseOnDrop<'a>(&'a Queue);

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        self.0.close();
        self.0.lock().waiting.clear();
    }
}

/// The writer's thread. After each commit it removes a piece of garbage, and more while no call
/// waits.
pub(crate) fn write(queue: &Queue, thread: &Connected) {
    let _close = CloseOnDrop(queue);
    loop {
        while collect(thread) && !queue.is_waiting() {}
        if queue.is_quiet() {
            empty_log(&thread.connection);
        }
        let mut calls = queue.take(GROUP);
        if calls.is_empty() {
            return;
        }
        while !calls.is_empty() {
            commit(thread, &mut calls);
        }
    }
}

/// Removes a piece of garbage in a transaction of its own. Returns false if there is none, or if it
/// can't be removed now.
fn collect(thread: &Connected) -> bool {
    if !garbage::exists(&thread.session).unwrap_or(false) || thread.begin("BEGIN IMMEDIATE").is_err() {
        return false;
    }
    let collected = garbage::collect(&thread.session).and_then(|_| thread.execute("COMMIT"));
    match &collected {
        Ok(()) => thread.committed(),
        // The disk fails; whoever writes next is told.
        Err(_) => thread.roll_back(),
    }
    collected.is_ok()
}

/// A reader's thread: a call sees one state of the database.
pub(crate) fn read(queue: &Queue, thread: &Connected) {
    let _close = CloseOnDrop(queue);
    loop {
        let Some(mut call) = queue.take(1).pop_front() else { return };
        let begun = thread.begin("BEGIN");
        if begun.is_ok() {
            call.run(&thread.session);
            // A transaction that only read has nothing to lose.
            let _ = thread.execute("COMMIT");
        }
        call.answer(begun.err().as_ref());
    }
}

/// Makes calls in one commit, as many as its time allows.
fn commit(thread: &Connected, calls: &mut VecDeque<Boxed>) {
    let (start, mut made) = (Instant::now(), Vec::with_capacity(calls.len()));
    let mut begun = thread.begin("BEGIN IMMEDIATE");
    while let Some(mut call) = calls.pop_front() {
        if let Err(error) = begun.clone().and_then(|()| thread.execute("SAVEPOINT call")) {
            // Without a transaction, nothing may be written.
            call.answer(Some(&error));
            continue;
        }
        thread.tick();
        let evicting = thread.session.evicting.get();
        let kept = call.run(&thread.session);
        let end = if kept {
            thread.execute("RELEASE call")
        } else {
            thread.session.evicting.set(evicting);
            thread.execute("ROLLBACK TO call").and_then(|()| thread.execute("RELEASE call"))
        };
        made.push(call);
        // A failing disk makes SQLite roll back the whole transaction.
        if end.is_err() || thread.connection.is_autocommit() {
            thread.roll_back();
            answer(&mut made, Some(&StoreError::Unavailable("the disk failed during the commit".to_owned())));
            begun = thread.begin("BEGIN IMMEDIATE");
        }
        if start.elapsed() >= GROUP_TIME {
            break;
        }
    }
    if begun.is_ok() {
        let committed = thread.execute("COMMIT");
        match &committed {
            Ok(()) => thread.committed(),
            Err(_) => thread.roll_back(),
        }
        answer(&mut made, committed.err().as_ref());
    }
}

fn answer(made: &mut Vec<Boxed>, lost: Option<&StoreError>) {
    for call in made.drain(..) {
        call.answer(lost);
    }
}

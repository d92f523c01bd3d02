//! The threads that have the connections. The writer takes all calls that wait and commits them
//! together; each is in a savepoint, so that one that fails takes nothing from the others. While there is
//! none, it brings what it committed from the write-ahead log into the file.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::connection::{empty_log, execute, page_bytes};
use super::open_file::OpenFile;
use crate::sql::garbage;
use crate::sql::queue::{Call, CloseOnDrop, Queue, Queued};
use crate::sql::session::Session;
use crate::{Result, StoreError, TimeSource};

/// Calls in one commit, and the time after which it takes no more of them.
const GROUP: usize = 256;
const GROUP_TIME: Duration = Duration::from_millis(50);
/// Time without calls after which the writer empties the write-ahead log, so that nothing of what
/// was deleted stays in it.
const QUIET: Duration = Duration::from_secs(1);

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

/// The writer's thread. After each commit it removes a piece of garbage, and more while no call
/// waits.
pub(crate) fn write(queue: &Queue<Arc<str>>, thread: &Connected) {
    let _close = CloseOnDrop(queue);
    loop {
        while collect(thread) && !queue.is_waiting() {}
        if queue.is_quiet(QUIET) {
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
pub(crate) fn read(queue: &Queue<Arc<str>>, thread: &Connected) {
    let _close = CloseOnDrop(queue);
    loop {
        let Some(Queued { kind: host, mut call }) = queue.take(1).pop_front() else { return };
        thread.session.host.replace(host);
        let begun = thread.begin("BEGIN");
        if begun.is_ok() {
            // The call has its error.
            let _ = call.run(&thread.session);
            // A transaction that only read has nothing to lose.
            let _ = thread.execute("COMMIT");
        }
        call.answer(begun.err().as_ref());
    }
}

/// Makes calls in one commit, as many as its time allows.
fn commit(thread: &Connected, calls: &mut VecDeque<Queued<Arc<str>>>) {
    let (start, mut made) = (Instant::now(), Vec::with_capacity(calls.len()));
    let mut begun = thread.begin("BEGIN IMMEDIATE");
    while let Some(Queued { kind: host, mut call }) = calls.pop_front() {
        if let Err(error) = begun.clone().and_then(|()| thread.execute("SAVEPOINT call")) {
            // Without a transaction, nothing may be written.
            call.answer(Some(&error));
            continue;
        }
        thread.tick();
        let evicting = thread.session.evicting.get();
        thread.session.host.replace(host);
        let end = if call.run(&thread.session).is_ok() {
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

fn answer(made: &mut Vec<Box<dyn Call>>, lost: Option<&StoreError>) {
    for call in made.drain(..) {
        call.answer(lost);
    }
}

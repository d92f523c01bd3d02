//! The threads that have the connections, one each: a transaction is made where one is free.

use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::connection::{Access, Connection, Failure};
use crate::sql::evict;
use crate::sql::garbage;
use crate::sql::queue::{Call, CloseOnDrop, Queue, Queued};
use crate::sql::session::Session;
use crate::sql::transactions::Scope;
use crate::{Full, Owner, Result, StoreError};

/// How often a call is made, where another transaction was in its way or the connection was lost.
const ATTEMPTS: u32 = 8;
/// Time between attempts. Those to find out whether a call was committed wait so much longer each time.
const PAUSE: Duration = Duration::from_millis(100);
/// Removals that one change waits for, in a store that is full.
const REMOVALS: u32 = 256;

/// How a call is made.
pub(crate) struct Kind {
    /// The host that makes it.
    pub(crate) host: Arc<str>,
    pub(crate) access: Access,
}

impl Kind {
    /// Whose lock the call takes.
    fn owner(&self) -> Option<&Owner> {
        if let Access::Write(Scope::Owner(owner)) = &self.access { Some(owner) } else { None }
    }
}

/// Time for which calls wait for a database that can't be reached. Behind it they fail at once, until it
/// can be.
const PATIENCE: Duration = Duration::from_secs(3);

/// Time without calls after which garbage is looked for.
const QUIET: Duration = Duration::from_secs(1);

/// Time for which a thread removes garbage before it looks for calls.
const COLLECTING: Duration = Duration::from_millis(50);

/// Since when the database can't be reached, as all threads find it.
#[derive(Default)]
pub(crate) struct Outage(Mutex<Option<Instant>>);

impl Outage {
    fn is_over(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Whether it is worth waiting for the end.
    fn is_new(&self) -> bool {
        let mut since = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        since.get_or_insert_with(Instant::now).elapsed() < PATIENCE
    }
}

/// A thread's connection.
pub(crate) struct Connected {
    pub(crate) outage: Arc<Outage>,
    pub(crate) connection: Rc<Connection>,
    pub(crate) session: Session,
}

/// Makes calls until the queue is closed. One thread of a host `collects` garbage, too: all of it while no
/// call waits, and a piece now and then while some do.
pub(crate) fn serve(queue: &Queue<Kind>, thread: &Connected, collects: bool) {
    let _close = CloseOnDrop(queue);
    let mut looked = Instant::now();
    loop {
        while collects && queue.is_quiet(QUIET) {
            thread.collect_for_a_while(queue);
        }
        let Some(Queued { kind, mut call }) = queue.take_free(Kind::owner) else { return };
        thread.session.host.replace(kind.host.clone());
        let lost = match kind.access {
            Access::Read => thread.read(&mut *call),
            Access::Write(_) => thread.write(&kind.access, &mut *call),
        };
        if let Some(owner) = kind.owner() {
            queue.done(owner);
        }
        call.answer(lost.err().as_ref());
        if collects && looked.elapsed() >= QUIET && !thread.collect_for_a_while(queue) {
            looked = Instant::now();
        }
    }
}

impl Connected {
    /// Makes a call that only reads, again if its connection is lost under way: its reader pays again for
    /// what is read again.
    fn read(&self, call: &mut dyn Call) -> Result<()> {
        let mut attempts = 0;
        loop {
            self.begin(&Access::Read)?;
            let made = call.run(&self.session);
            if made.is_ok() {
                // A transaction that only read has nothing to lose.
                let _ = self.connection.commit();
                return made;
            }
            let is_lost = self.connection.failure() == Some(Failure::Lost);
            self.connection.roll_back();
            attempts += 1;
            if !is_lost || attempts > ATTEMPTS {
                return made;
            }
        }
    }

    /// Begins a transaction, on a new connection if the old one was lost meanwhile.
    fn begin(&self, access: &Access) -> Result<()> {
        let mut is_new_connection = false;
        loop {
            let begun = self.connection.begin(access);
            if begun.is_err() {
                self.connection.roll_back();
                if self.connection.failure() == Some(Failure::Lost) {
                    if !is_new_connection {
                        is_new_connection = true;
                        continue;
                    }
                    if self.outage.is_new() {
                        std::thread::sleep(PAUSE);
                        continue;
                    }
                }
            }
            self.session.moment.set(begun?);
            self.outage.is_over();
            return Ok(());
        }
    }

    /// Makes a call that writes, until it is known whether it is made.
    fn write(&self, access: &Access, call: &mut dyn Call) -> Result<()> {
        let (mut attempts, mut removals) = (0, 0);
        self.session.is_repeated.set(false);
        loop {
            let made = self.transaction(access, |session| call.run(session));
            if made.is_ok() {
                return made;
            }
            if matches!(made, Err(StoreError::Full(Full::Store))) {
                removals += 1;
                if removals > REMOVALS || !self.make_room()? {
                    return made;
                }
                continue;
            }
            attempts += 1;
            let limit = match self.connection.failure() {
                Some(Failure::Conflict) => ATTEMPTS,
                // Whether it was committed is to be found out, though the database is being started again.
                Some(Failure::Lost) if self.session.is_repeated.get() => {
                    std::thread::sleep((attempts - 1) * PAUSE);
                    ATTEMPTS
                }
                Some(Failure::Lost) if self.connection.has_begun() => ATTEMPTS,
                // Of what couldn't begin, the beginning has waited as long as is worth it.
                Some(Failure::Lost | Failure::Refused) | None => 0,
            };
            if attempts > limit {
                return made;
            }
        }
    }

    /// Removes garbage while no call waits. Returns whether some is left.
    fn collect_for_a_while(&self, queue: &Queue<Kind>) -> bool {
        let began = Instant::now();
        while self.collect() {
            if queue.is_waiting() || began.elapsed() >= COLLECTING {
                return true;
            }
        }
        false
    }

    /// Removes a piece of garbage. Returns false if there is none, or if it can't be removed now.
    fn collect(&self) -> bool {
        let mut has_collected = false;
        let collected = self.transaction(&Access::Write(Scope::Row), |session| {
            has_collected = garbage::collect(session)?;
            Ok(())
        });
        collected.is_ok() && has_collected
    }

    /// Removes what a change lacks room for, others' too. Returns whether there was something.
    fn make_room(&self) -> Result<bool> {
        let lacking = self.session.lacking.get();
        let mut has_removed = false;
        self.transaction(&Access::Write(Scope::Row), |session| {
            has_removed = evict::make_room_for_others(session, lacking)?;
            Ok(())
        })?;
        Ok(has_removed)
    }

    fn transaction(&self, access: &Access, work: impl FnOnce(&Session) -> Result<()>) -> Result<()> {
        self.begin(access)?;
        let mut made = work(&self.session);
        if made.is_ok() {
            made = self.connection.commit();
            self.session.is_repeated.set(self.session.is_repeated.get() || made.is_err());
        }
        if made.is_ok() {
            self.session.committed();
        } else {
            self.session.evicting.take();
            self.connection.roll_back();
        }
        made
    }
}

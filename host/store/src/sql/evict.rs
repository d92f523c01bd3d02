//! Removal: by age, by bytes, by an operator. What runs or is needed by a living response is never
//! evicted.
//!
//! Invariant: one transaction evicts no more than [`ROWS`] and [`BYTES`], beside what it is at. What
//! a change must make room for beyond that is evicted in transactions of their own ([`Debt`]).

use super::database::{OwnerLock, params};

use super::garbage;
use super::session::Session;
use crate::bounds::millis;
use crate::{Evicted, Full, Purge, Result, StoreError};

/// Rows of all tables that one transaction changes by evicting.
const ROWS: u64 = 1024;
/// Bytes that one transaction evicts.
const BYTES: u64 = 8 << 20;
/// Rows of one kind that are looked up at once.
const LOOKED_UP: u64 = 256;

/// Bytes of the logs of what runs, in a query of an owner.
pub(crate) const RUNNING_LOGS: &str = "(SELECT CAST(COALESCE(SUM(log_bytes), 0) AS BIGINT) FROM response INDEXED BY response_live WHERE owner = owner.key AND ended IS NULL)";

/// What is being changed, and so isn't evicted.
#[derive(Clone, Copy)]
pub(crate) enum Keep {
    Conversation(i64),
    Response(i64),
}

/// Room that a change has still to make: its owner doesn't grow by it, however far it is over its
/// bound.
#[derive(Clone, Copy)]
pub(crate) struct Debt {
    owner: i64,
    keep: Option<Keep>,
    bytes: u64,
}

/// What one transaction removes.
struct Removal<'a> {
    s: &'a Session,
    rows: u64,
    bytes: u64,
    evicted: Evicted,
}

impl<'a> Removal<'a> {
    fn begin(s: &'a Session) -> Self {
        Self { s, rows: 0, bytes: 0, evicted: Evicted::default() }
    }

    /// Whether the rest is for other transactions.
    fn is_spent(&self) -> bool {
        self.bytes >= BYTES || self.rows >= ROWS
    }

    /// Counts what was evicted. Returns it.
    fn end(self) -> Evicted {
        self.s.count(self.evicted);
        self.evicted
    }

    /// Evicts what `which` selects, oldest first: of all owners, or of one where each has a lock.
    fn all(&mut self, which: &str, until: u64, evict: impl Fn(&mut Self, i64) -> Result<()>) -> Result<()> {
        let sql = format!("SELECT key, owner FROM {which} LIMIT ?");
        let read = || self.s.all(&sql, params![until, LOOKED_UP], |row| Ok((row.get(0)?, row.get(1)?)));
        let mut found = read()?.into_iter();
        while let Some((key, owner)) = found.next().filter(|_| !self.is_spent()) {
            match self.s.database.lock_owner(owner)? {
                OwnerLock::Held => evict(self, key)?,
                OwnerLock::Taken => found = read()?.into_iter(),
                OwnerLock::Another => {}
            }
        }
        Ok(())
    }

    fn log(&mut self, key: i64) -> Result<()> {
        garbage::discard_log(self.s, key)?;
        self.rows += 1;
        self.evicted.logs += 1;
        Ok(())
    }

    fn conversation(&mut self, key: i64) -> Result<()> {
        self.bytes += self.s.number("SELECT bytes FROM conversation WHERE key = ?", params![key])?;
        self.s.run("DELETE FROM conversation WHERE key = ?", params![key])?;
        self.rows += 1;
        self.evicted.conversations += 1;
        Ok(())
    }

    fn response(&mut self, key: i64) -> Result<()> {
        self.erase(key)?;
        self.evicted.responses += 1;
        Ok(())
    }

    /// Erases a leaf, and the deleted responses that were kept for it alone. Triggers take its
    /// items, log and lock with it. What is large becomes garbage, as do the deleted ones beyond
    /// the transaction's bound: they need nothing but to be noticed.
    fn erase(&mut self, key: i64) -> Result<()> {
        let (s, mut next) = (self.s, Some(key));
        while let Some(key) = next {
            let (parent, bytes) = s
                .first("SELECT parent, bytes FROM response WHERE key = ?", params![key], |row| {
                    Ok((row.get::<Option<i64>>(0)?, row.get::<u64>(1)?))
                })?
                .unwrap_or_default();
            self.bytes += bytes;
            self.rows += 1;
            let Some(rows) = garbage::small(s, key)? else { return garbage::discard_response(s, key) };
            self.rows += rows;
            s.run("DELETE FROM response WHERE key = ?", params![key])?;
            if self.is_spent() {
                return Ok(());
            }
            next = s.first(
                "SELECT key FROM response WHERE key = ? AND deleted = 1 AND children = 0",
                params![parent],
                |row| row.get(0),
            )?;
        }
        Ok(())
    }

    /// Evicts the leaf or conversation that wasn't used for longest, of one owner or of all.
    /// Returns whether there was one; not where the transaction has another owner's lock.
    fn oldest(&mut self, owner: Option<i64>, keep: Option<Keep>) -> Result<bool> {
        while let Some(Oldest { key, owner, is_conversation, .. }) = oldest(self.s, owner, keep)? {
            match self.s.database.lock_owner(owner)? {
                OwnerLock::Held if is_conversation => self.conversation(key)?,
                OwnerLock::Held => self.response(key)?,
                OwnerLock::Taken => continue,
                OwnerLock::Another => return Ok(false),
            }
            return Ok(true);
        }
        Ok(false)
    }
}

/// A leaf or conversation, in the order in which they are evicted.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Oldest {
    used: u64,
    is_conversation: bool,
    key: i64,
    owner: i64,
}

/// The leaf or conversation that wasn't used for longest, of one owner or of all.
fn oldest(s: &Session, owner: Option<i64>, keep: Option<Keep>) -> Result<Option<Oldest>> {
    let leaf = "ended IS NOT NULL AND children = 0 AND deleted = 0";
    let (kept_response, kept_conversation) = match keep {
        Some(Keep::Response(key)) => (Some(key), None),
        Some(Keep::Conversation(key)) => (None, Some(key)),
        None => (None, None),
    };
    let first = |table: &str, which: &str, kept: Option<i64>| {
        let is_conversation = table == "conversation";
        let of = if owner.is_some() { "owner = ?2 AND" } else { "" };
        let sql = format!(
            "SELECT used, key, owner FROM {table} WHERE {of} {which} AND key IS DISTINCT FROM ?1 ORDER BY used, key LIMIT 1"
        );
        let values = params![kept, owner];
        s.first(&sql, &values[..=usize::from(owner.is_some())], |row| {
            Ok(Oldest { used: row.get(0)?, is_conversation, key: row.get(1)?, owner: row.get(2)? })
        })
    };
    let response = first("response", leaf, kept_response)?;
    let conversation = first("conversation", "running IS NULL", kept_conversation)?;
    Ok(response.into_iter().chain(conversation).min())
}

pub(crate) fn evict(s: &Session) -> Result<Evicted> {
    let mut removal = Removal::begin(s);
    removal.all(
        "response WHERE ended IS NOT NULL AND logged = 1 AND ended <= ? ORDER BY ended",
        s.now().saturating_sub(millis(s.bounds.log_kept)),
        Removal::log,
    )?;
    removal.all(
        "response WHERE ended IS NOT NULL AND children = 0 AND deleted = 0 AND used <= ? ORDER BY used",
        s.expired(),
        Removal::response,
    )?;
    removal.all(
        "conversation WHERE running IS NULL AND used <= ? ORDER BY used",
        s.expired(),
        Removal::conversation,
    )?;
    let mut all_logs = 0;
    for (owner, bytes, logs) in owners(s)? {
        all_logs += logs;
        while bytes + logs > s.bounds.owner_bytes
            && !removal.is_spent()
            && s.database.lock_owner(owner)? != OwnerLock::Another
            && owner_bytes(s, owner)? + logs > s.bounds.owner_bytes
            && removal.oldest(Some(owner), None)?
        {}
    }
    while !removal.is_spent() && total_bytes(s)? + all_logs > s.bounds.bytes && removal.oldest(None, None)? {}
    s.database.shrink()?;
    Ok(removal.end())
}

/// Erases what nobody reads before it has ended, and whose host was lost.
pub(crate) fn erase_lost(s: &Session) -> Result<()> {
    let lost = "response INDEXED BY response_live WHERE ended IS NULL AND kind != 0 AND lease <= ?";
    Removal::begin(s).all(lost, s.lease_now(), Removal::erase)
}

/// Evicts for a change that added `added` bytes, until the bounds hold, `keep` and what runs
/// excepted. Returns the room that is still to be made, if that is too much for one transaction.
pub(crate) fn make_room(s: &Session, owner: i64, keep: Option<Keep>, added: u64) -> Result<Option<Debt>> {
    let mut removal = Removal::begin(s);
    while let Some(full) = over(s, owner)? {
        if removal.is_spent() {
            let bytes = added.saturating_sub(removal.bytes);
            removal.end();
            return Ok((bytes > 0).then_some(Debt { owner, keep, bytes }));
        }
        if !removal.oldest((full == Full::Owner).then_some(owner), keep)? {
            s.lacking.set(total_bytes(s)?.saturating_sub(s.bounds.bytes));
            return Err(StoreError::Full(full));
        }
    }
    removal.end();
    Ok(None)
}

/// Makes room that a change lacked, which may evict nobody else's in its own transaction. Returns
/// whether something was evicted.
pub(crate) fn make_room_for_others(s: &Session, lacking: u64) -> Result<bool> {
    let mut removal = Removal::begin(s);
    while !removal.is_spent() && removal.bytes < lacking && removal.oldest(None, None)? {}
    Ok(removal.end() != Evicted::default())
}

/// Makes some of the room that is owed. Returns what is left of it.
pub(crate) fn repay(s: &Session, debt: Debt) -> Result<Option<Debt>> {
    let Debt { owner, keep, bytes } = debt;
    let mut removal = Removal::begin(s);
    let mut is_left = false;
    while let Some(full) = over(s, owner)? {
        is_left = removal.is_spent();
        if is_left || !removal.oldest((full == Full::Owner).then_some(owner), keep)? {
            break;
        }
    }
    let bytes = bytes.saturating_sub(removal.bytes);
    removal.end();
    Ok((is_left && bytes > 0).then_some(Debt { owner, keep, bytes }))
}

/// The bound that an owner, or all together, are over.
fn over(s: &Session, owner: i64) -> Result<Option<Full>> {
    if owner_bytes(s, owner)? > s.bounds.owner_bytes {
        return Ok(Some(Full::Owner));
    }
    Ok((total_bytes(s)? > s.bounds.bytes).then_some(Full::Store))
}

/// Each owner, with its counted bytes and those of the logs of what runs, which are counted for it at
/// the end: who looks for room now and then is soon enough, and a chunk is a write to one row less.
fn owners(s: &Session) -> Result<Vec<(i64, u64, u64)>> {
    let sql = format!("SELECT key, bytes, {RUNNING_LOGS} FROM owner");
    s.all(&sql, &[], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
}

fn owner_bytes(s: &Session, owner: i64) -> Result<u64> {
    s.number("SELECT bytes FROM owner WHERE key = ?", params![owner])
}

fn total_bytes(s: &Session) -> Result<u64> {
    s.number("SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM owner", &[])
}

/// Makes a response unknown. With children, its items stay for them.
pub(crate) fn remove(s: &Session, key: i64, children: u64) -> Result<()> {
    if children == 0 {
        return Removal::begin(s).erase(key);
    }
    garbage::discard_log(s, key)?;
    s.run(
        "UPDATE response SET deleted = 1, bytes = bytes - \
         (SELECT LENGTH(request) + LENGTH(result) FROM body WHERE response = key) WHERE key = ?",
        params![key],
    )?;
    s.run("UPDATE body SET request = ?2, result = ?2 WHERE response = ?1", params![key, &[][..]])?;
    Ok(())
}

/// Deletes what an operator names, in one transaction: nobody else uses the file.
pub(crate) fn purge(s: &Session, what: &Purge) -> Result<Evicted> {
    let owner = what.owner.as_ref().map(crate::Owner::name);
    let since = what.unused_since.unwrap_or(u64::MAX >> 1);
    let chosen =
        "(CAST(?1 AS TEXT) IS NULL OR owner = (SELECT key FROM owner WHERE name = ?1)) AND used <= ?2";
    let mut evicted = Evicted::default();
    if what.count_only {
        let count = |rows| s.number(&format!("SELECT COUNT(*) FROM {rows} {chosen}"), params![owner, since]);
        evicted.responses = count("response WHERE deleted = 0 AND")?;
        evicted.conversations = count("conversation WHERE")?;
        return Ok(evicted);
    }
    // Children have larger keys than their parents.
    let sql = format!("SELECT key FROM response WHERE deleted = 0 AND {chosen} ORDER BY key DESC");
    for key in s.all(&sql, params![owner, since], |row| row.get::<i64>(0))? {
        let children = s.number("SELECT children FROM response WHERE key = ?", params![key])?;
        remove(s, key, children)?;
        evicted.responses += 1;
    }
    evicted.conversations =
        s.run(&format!("DELETE FROM conversation WHERE {chosen}"), params![owner, since])?;
    while garbage::collect(s)? {}
    s.run("DELETE FROM owner WHERE bytes = 0", &[])?;
    s.database.shrink()?;
    Ok(evicted)
}

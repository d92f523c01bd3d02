//! Garbage: what is gone for everybody, and is removed from the file in pieces between other
//! transactions. A piece has a bound of rows; `docs/state.md` says what that means for a client.
//!
//! Invariant: garbage counts no bytes of its owner, and no query that shows something finds it.

use super::database::{Others, OwnerLock, params};

use super::session::Session;
use crate::Result;

/// Rows of items, entries or chunks in a piece.
const PIECE: u64 = 512;

/// Column `kind` of table `garbage`.
const LOG: u64 = 0;

/// A deleted response that nothing needs.
const RESPONSE: &str =
    "SELECT key, owner FROM response INDEXED BY response_garbage WHERE deleted = 1 AND children = 0 LIMIT 1";

/// Rows that belong to another one: the column that says to which, and those of their place.
struct Belongings {
    table: &'static str,
    of: &'static str,
    place: &'static str,
}

const ITEMS: Belongings = Belongings { table: "item", of: "response", place: "side, pos" };
const CHUNKS: Belongings = Belongings { table: "chunk", of: "response", place: "first" };
const ENTRIES: Belongings = Belongings { table: "entry", of: "conversation", place: "pos" };

impl Belongings {
    /// How many belong to `key`; a piece at most.
    fn count(&self, s: &Session, key: i64) -> Result<u64> {
        let Self { table, of, .. } = self;
        s.number(
            &format!("SELECT COUNT(*) FROM (SELECT 1 FROM {table} WHERE {of} = ? LIMIT {PIECE}) AS piece"),
            params![key],
        )
    }

    /// Removes a piece of those of `key`. Returns how many.
    fn remove(&self, s: &Session, key: i64) -> Result<u64> {
        let Self { table, of, place } = self;
        let sql = format!(
            "DELETE FROM {table} WHERE {of} = ?1 AND ({place}) IN (SELECT {place} FROM {table} WHERE {of} = ?1 LIMIT {PIECE})"
        );
        s.run(&sql, params![key])
    }
}

/// Whether there is some.
pub(crate) fn exists(s: &Session) -> Result<bool> {
    let sql = format!("SELECT EXISTS (SELECT 1 FROM garbage) OR EXISTS ({RESPONSE})");
    Ok(s.number(&sql, &[])? == 1)
}

/// Removes a piece. Returns false if there is none.
pub(crate) fn collect(s: &Session) -> Result<bool> {
    let response = || s.first(RESPONSE, &[], |row| Ok((row.get(0)?, row.get(1)?)));
    while let Some((key, owner)) = response()? {
        match s.database.lock_owner(owner)? {
            OwnerLock::Held => {}
            OwnerLock::Taken => continue,
            OwnerLock::Another => return Ok(true),
        }
        if ITEMS.remove(s, key)? + CHUNKS.remove(s, key)? == 0 {
            s.run("DELETE FROM response WHERE key = ?", params![key])?;
        }
        return Ok(true);
    }
    let sql = format!("SELECT kind, key FROM garbage LIMIT 1{}", s.database.locking(Others::Skip));
    let garbage = s.first(&sql, &[], |row| Ok((row.get::<u64>(0)?, row.get(1)?)))?;
    let Some((kind, key)) = garbage else { return Ok(false) };
    let belongings = if kind == LOG { CHUNKS } else { ENTRIES };
    if belongings.remove(s, key)? == 0 {
        s.run("DELETE FROM garbage WHERE kind = ? AND key = ?", params![kind, key])?;
    }
    Ok(true)
}

/// Makes a response garbage with all that belongs to it.
pub(crate) fn discard_response(s: &Session, key: i64) -> Result<()> {
    s.run(
        "UPDATE response SET deleted = 1, logged = 0, log_bytes = 0, bytes = 0, ended = COALESCE(ended, ?1), \
         status = CASE WHEN status < 2 THEN 4 ELSE status END WHERE key = ?2",
        params![s.now(), key],
    )?;
    s.run("UPDATE conversation SET running = NULL WHERE running = ?", params![key])?;
    Ok(())
}

/// Makes the event log of a response garbage.
pub(crate) fn discard_log(s: &Session, key: i64) -> Result<()> {
    s.run("INSERT INTO garbage (kind, key) VALUES (?, ?) ON CONFLICT DO NOTHING", params![LOG, key])?;
    s.run(
        "UPDATE response SET logged = 0, bytes = bytes - log_bytes, log_bytes = 0 WHERE key = ?",
        params![key],
    )?;
    Ok(())
}

/// Rows that go with a response; none if they are too many to be removed in one piece.
pub(crate) fn small(s: &Session, key: i64) -> Result<Option<u64>> {
    let rows = ITEMS.count(s, key)? + CHUNKS.count(s, key)?;
    Ok((rows < PIECE).then_some(rows))
}

//! Garbage: what is gone for everybody, and is removed from the file in pieces between other
//! transactions. A piece has a bound of rows; `docs/state.md` says what that means for a client.
//!
//! Invariant: garbage counts no bytes of its owner, and no query that shows something finds it.

use rusqlite::params;

use super::session::Session;
use crate::Result;

/// Rows of items, entries or chunks in a piece.
const PIECE: u64 = 512;

/// Column `kind` of table `garbage`.
const LOG: u64 = 0;

/// A deleted response that nothing needs.
const RESPONSE: &str =
    "SELECT key FROM response INDEXED BY response_garbage WHERE deleted = 1 AND children = 0 LIMIT 1";

/// Whether there is some.
pub(crate) fn exists(s: &Session) -> Result<bool> {
    let number = s.number(&format!("SELECT EXISTS (SELECT 1 FROM garbage) OR EXISTS ({RESPONSE})"), [])?;
    Ok(number == 1)
}

/// Removes a piece. Returns false if there is none.
pub(crate) fn collect(s: &Session) -> Result<bool> {
    if let Some(key) = s.first(RESPONSE, [], |row| row.get::<_, i64>(0))? {
        let removed = piece(s, "item WHERE response", key)? + piece(s, "chunk WHERE response", key)?;
        if removed == 0 {
            s.run("DELETE FROM response WHERE key = ?", [key])?;
        }
        return Ok(true);
    }
    let garbage = s.first("SELECT kind, key FROM garbage LIMIT 1", [], |row| {
        Ok((row.get::<_, u64>(0)?, row.get::<_, i64>(1)?))
    })?;
    let Some((kind, key)) = garbage else { return Ok(false) };
    let rows = if kind == LOG { "chunk WHERE response" } else { "entry WHERE conversation" };
    if piece(s, rows, key)? == 0 {
        s.run("DELETE FROM garbage WHERE kind = ? AND key = ?", params![kind, key])?;
    }
    Ok(true)
}

/// Removes some of the `rows` that belong to `key`. Returns how many.
fn piece(s: &Session, rows: &str, key: i64) -> Result<usize> {
    let table = rows.split_whitespace().next().unwrap_or_default();
    s.run(&format!("DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {rows} = ? LIMIT {PIECE})"), [key])
}

/// Makes a response garbage with all that belongs to it.
pub(crate) fn discard_response(s: &Session, key: i64) -> Result<()> {
    s.run(
        "UPDATE response SET deleted = 1, logged = 0, log_bytes = 0, bytes = 0, ended = COALESCE(ended, ?1), \
         status = CASE WHEN status < 2 THEN 4 ELSE status END WHERE key = ?2",
        params![s.now(), key],
    )?;
    s.run("UPDATE conversation SET running = NULL WHERE running = ?", [key])?;
    Ok(())
}

/// Makes the event log of a response garbage.
pub(crate) fn discard_log(s: &Session, key: i64) -> Result<()> {
    s.run("INSERT OR IGNORE INTO garbage (kind, key) VALUES (?, ?)", params![LOG, key])?;
    s.run("UPDATE response SET logged = 0, bytes = bytes - log_bytes, log_bytes = 0 WHERE key = ?", [key])?;
    Ok(())
}

/// Whether a response has too many rows to be removed in one piece.
pub(crate) fn is_large(s: &Session, key: i64) -> Result<bool> {
    let count = |rows: &str| {
        s.number(&format!("SELECT COUNT(*) FROM (SELECT 1 FROM {rows} = ? LIMIT {PIECE})"), [key])
    };
    Ok(count("item WHERE response")? + count("chunk WHERE response")? >= PIECE)
}

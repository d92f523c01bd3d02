//! Calls that are made again, since the answer of a commit was lost: what is stored already, just as
//! it is to be stored, is a success. Invariant: a repeated call writes nothing.

use super::database::params;

use super::read::own_items;
use super::row::{ConversationRow, Kind, ResponseRow, status_number};
use super::session::Session;
use crate::chunk::Packed;
use crate::{End, Lease, NewResponse, Owner, Result, StoreError, StoredItem};

/// The row of this new response, if it is stored.
///
/// # Errors
/// [`StoreError::Duplicate`] where something else has its id.
pub(crate) fn created(
    s: &Session,
    owner: &Owner,
    new: &NewResponse,
    kind: Kind,
    background: bool,
) -> Result<Option<ResponseRow>> {
    let Some(row) = ResponseRow::with_id(s, owner, &new.id)? else { return Ok(None) };
    let is_same = !row.deleted
        && (row.kind, row.background) == (kind, background)
        && row.link == new.link
        && body(s, "request", row.key)? == new.request
        && own_items(s, row.key, 0)? == new.input;
    if is_same { Ok(Some(row)) } else { Err(StoreError::Duplicate) }
}

/// Whether these chunks are stored from number `first` on. What comes behind the log isn't.
///
/// # Errors
/// [`StoreError::Conflict`] where others are.
pub(crate) fn has_chunks(s: &Session, row: &ResponseRow, first: u64, chunks: &[Packed]) -> Result<bool> {
    if first >= row.events || chunks.is_empty() {
        return Ok(false);
    }
    for chunk in chunks {
        let stored = s.first(
            "SELECT last, body FROM chunk WHERE response = ? AND first = ?",
            params![row.key, chunk.first],
            |row| Ok((row.get::<u64>(0)?, row.get::<Vec<u8>>(1)?)),
        )?;
        if stored.is_none_or(|(last, body)| last != chunk.last || body != chunk.body) {
            return Err(StoreError::Conflict { at: chunk.first });
        }
    }
    Ok(true)
}

/// Whether these items are in a response's output from number `first` on, where it has some.
///
/// # Errors
/// [`StoreError::Conflict`] where others are.
pub(crate) fn has_output(s: &Session, key: i64, first: u64, items: &[StoredItem]) -> Result<bool> {
    let stored = own_items(s, key, 1)?;
    let stored = usize::try_from(first).ok().and_then(|first| stored.get(first..)).unwrap_or_default();
    if stored.starts_with(items) { Ok(!items.is_empty()) } else { Err(StoreError::Conflict { at: first }) }
}

/// Whether a response that ended did so by this call of whoever had this lease.
pub(crate) fn has_end(
    s: &Session,
    row: &ResponseRow,
    lease: &Lease,
    end: &End,
    last: Option<&(u64, Vec<Packed>)>,
) -> Result<bool> {
    let is_same = row.was_held_by(lease)
        && row.status == status_number(end.status)
        && body(s, "result", row.key)? == end.result
        && own_items(s, row.key, 1)?.starts_with(&end.output);
    let Some((first, chunks)) = last.filter(|_| is_same) else { return Ok(is_same) };
    let is_last = chunks.last().is_some_and(|chunk| chunk.last + 1 == row.events);
    if !is_last || !row.logged {
        // Of a log that is gone, the numbers are known.
        return Ok(is_last);
    }
    match has_chunks(s, row, *first, chunks) {
        Err(StoreError::Conflict { .. }) => Ok(false),
        compared => compared,
    }
}

/// Whether these are a conversation's last entries.
pub(crate) fn ends_with(s: &Session, row: &ConversationRow, items: &[StoredItem]) -> Result<bool> {
    let sql = "SELECT id, body FROM entry WHERE conversation = ? AND pos >= ? ORDER BY pos";
    let first = row.next.saturating_sub(items.len() as u64);
    let last =
        s.all(sql, params![row.key, first], |row| Ok(StoredItem { id: row.get(0)?, body: row.get(1)? }))?;
    Ok(last == items)
}

fn body(s: &Session, column: &str, key: i64) -> Result<Vec<u8>> {
    let body =
        s.first(&format!("SELECT {column} FROM body WHERE response = ?"), params![key], |row| row.get(0))?;
    Ok(body.unwrap_or_default())
}

//! Transactions on chat completions: rows of table `response` of a kind of their own, so that
//! leases, bounds and eviction are those of responses. One that didn't end well leaves nothing.

use std::fmt::Write as _;

use rusqlite::{params, params_from_iter};

use super::evict::Keep;
use super::session::Session;
use super::{evict, read, responses};
use crate::bounds::{ITEM_BYTES, TOUCH, millis};
use crate::{
    Completion, Completions, Error, Items, Lease, Link, NewCompletion, NewResponse, Order, Owner, Page,
    Result, Side, Tag,
};

/// A completion that can be read.
struct Row {
    key: i64,
    owner: i64,
    used: u64,
}

const VISIBLE: &str = "kind = 1 AND status IN (2, 3) AND used > ?2";

impl Row {
    /// Its key if its age is to be renewed.
    fn to_touch(&self, s: &Session) -> Option<i64> {
        (self.used + millis(TOUCH) <= s.now()).then_some(self.key)
    }
}

fn find(s: &Session, owner: &Owner, id: &str) -> Result<Row> {
    let sql = format!(
        "SELECT key, owner, used FROM response WHERE owner = (SELECT key FROM owner WHERE name = ?1) AND id = ?3 AND {VISIBLE}"
    );
    let read = |row: &rusqlite::Row<'_>| Ok(Row { key: row.get(0)?, owner: row.get(1)?, used: row.get(2)? });
    s.first(&sql, params![owner.name(), s.expired(), id], read)?.ok_or(Error::NotFound)
}

pub(crate) fn create(s: &Session, owner: &Owner, new: NewCompletion) -> Result<Lease> {
    let NewCompletion { id, tags, input } = new;
    let lease =
        responses::create(s, owner, &NewResponse { id, link: Link::Alone, request: Vec::new(), input })?;
    let (key, owner) = s
        .first(
            "SELECT key, owner FROM response WHERE owner = (SELECT key FROM owner WHERE name = ?) AND id = ?",
            params![owner.name(), lease.id],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?
        .ok_or(Error::NotFound)?;
    s.run("UPDATE response SET kind = 1 WHERE key = ?", [key])?;
    tag(s, key, &tags)?;
    evict::make_room(s, owner, None)?;
    Ok(lease)
}

fn tag(s: &Session, key: i64, tags: &[Tag]) -> Result<()> {
    let mut bytes = 0;
    for Tag { name, value } in tags {
        s.run(
            "INSERT OR REPLACE INTO tag (response, name, value) VALUES (?, ?, ?)",
            params![key, name, value],
        )?;
        bytes += ITEM_BYTES + (name.len() + value.len()) as u64;
    }
    s.run("UPDATE response SET bytes = bytes + ? WHERE key = ?", params![bytes, key])?;
    Ok(())
}

/// A completion, and its key if its age is to be renewed.
pub(crate) fn get(s: &Session, owner: &Owner, id: &str) -> Result<(Completion, Option<i64>)> {
    let row = find(s, owner, id)?;
    let touch = row.to_touch(s);
    Ok((load(s, row.key)?, touch))
}

/// The completion's key if its age is to be renewed.
pub(crate) fn to_touch(s: &Session, owner: &Owner, id: &str) -> Result<Option<i64>> {
    Ok(find(s, owner, id)?.to_touch(s))
}

/// A completion with its bodies.
pub(crate) fn load(s: &Session, key: i64) -> Result<Completion> {
    let (id, result) = s
        .first(
            "SELECT id, result FROM response JOIN body ON body.response = key WHERE key = ?",
            [key],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?
        .ok_or(Error::NotFound)?;
    let tags = s.all("SELECT name, value FROM tag WHERE response = ? ORDER BY rowid", [key], |row| {
        Ok(Tag { name: row.get(0)?, value: row.get(1)? })
    })?;
    Ok(Completion { id, tags, result })
}

pub(crate) fn list(s: &Session, owner: &Owner, tags: &[Tag], page: &Page) -> Result<Completions> {
    let (behind, order) = match page.order {
        Order::Ascending => (-1, "key > ?3"),
        Order::Descending => (i64::MAX, "key < ?3"),
    };
    let behind = match &page.after {
        Some(after) => find(s, owner, after)?.key,
        None => behind,
    };
    let mut sql = format!(
        "SELECT key FROM response WHERE owner = (SELECT key FROM owner WHERE name = ?1) AND {VISIBLE} AND {order}"
    );
    let limit = page.limit.saturating_add(1);
    let mut values: Vec<rusqlite::types::Value> = vec![
        owner.name().to_owned().into(),
        i64::try_from(s.expired()).unwrap_or(i64::MAX).into(),
        behind.into(),
        i64::try_from(limit).unwrap_or(i64::MAX).into(),
    ];
    for tag in tags {
        values.extend([tag.name.clone().into(), tag.value.clone().into()]);
        let at = values.len();
        // Writing to a string doesn't fail.
        let _ = write!(
            sql,
            " AND EXISTS (SELECT 1 FROM tag WHERE response = key AND name = ?{} AND value = ?{at})",
            at - 1
        );
    }
    sql +=
        if page.order == Order::Ascending { " ORDER BY key LIMIT ?4" } else { " ORDER BY key DESC LIMIT ?4" };
    let keys: Vec<i64> = s.all(&sql, params_from_iter(values), |row| row.get(0))?;
    let more = keys.len() > page.limit;
    let data = keys.into_iter().take(page.limit).map(|key| load(s, key)).collect::<Result<_>>()?;
    Ok(Completions { data, more })
}

pub(crate) fn retag(s: &Session, owner: &Owner, id: &str, tags: &[Tag]) -> Result<Completion> {
    let row = find(s, owner, id)?;
    s.run(
        "UPDATE response SET used = MAX(used, ?1), bytes = bytes - \
         (SELECT COALESCE(SUM(?2 + OCTET_LENGTH(name) + OCTET_LENGTH(value)), 0) FROM tag WHERE response = key) WHERE key = ?3",
        params![s.now(), ITEM_BYTES, row.key],
    )?;
    s.run("DELETE FROM tag WHERE response = ?", [row.key])?;
    tag(s, row.key, tags)?;
    let completion = load(s, row.key)?;
    evict::make_room(s, row.owner, Some(Keep::Response(row.key)))?;
    Ok(completion)
}

pub(crate) fn items(s: &Session, owner: &Owner, id: &str, page: &Page) -> Result<Items> {
    let mut places = Vec::new();
    read::response_places(s, find(s, owner, id)?.key, Some(Side::Input), &mut places)?;
    read::paged(s, places, page)
}

pub(crate) fn delete(s: &Session, owner: &Owner, id: &str) -> Result<()> {
    evict::remove(s, find(s, owner, id)?.key, 0)
}

/// Removes those whose process was lost: nobody saw their end.
pub(crate) fn sweep(s: &Session) -> Result<()> {
    let lost = s.all(
        "SELECT key FROM response INDEXED BY response_live WHERE ended IS NULL AND lease <= ? AND kind = 1",
        [s.lease_now()],
        |row| row.get(0),
    )?;
    lost.into_iter().try_for_each(|key| evict::remove(s, key, 0))
}

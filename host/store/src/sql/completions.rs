//! Transactions on chat completions: rows of table `response` of a kind of their own, so that
//! leases, bounds and eviction are those of responses. One that didn't end well leaves nothing.

use super::database::{Row as Found, Value, params};

use super::evict::{Debt, Keep};
use super::row::{Kind, text};
use super::session::Session;
use super::{evict, read, repeat, responses};
use crate::bounds::{ITEM_BYTES, TOUCH, millis};
use crate::{
    Budget, Completion, CompletionTag, Completions, Items, Lease, NewResponse, Order, Owner, Page, Result,
    Side, StoreError,
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
    let read = |row: &Found<'_>| Ok(Row { key: row.get(0)?, owner: row.get(1)?, used: row.get(2)? });
    s.first_locked(&sql, params![owner.name(), s.expired(), id], read)?.ok_or(StoreError::NotFound)
}

pub(crate) fn create(
    s: &Session,
    owner: &Owner,
    new: &NewResponse,
    tags: &[CompletionTag],
) -> Result<(Lease, Option<Debt>)> {
    let lease = Lease { owner: owner.clone(), id: new.id.clone(), host: s.host(), epoch: 1 };
    if let Some(row) = repeat::created(s, owner, new, Kind::Completion, false)? {
        let is_same = row.held_by(&lease) && self::tags(s, row.key)? == tags;
        return if is_same { Ok((lease, None)) } else { Err(StoreError::Duplicate) };
    }
    let (key, owner) = responses::insert(s, owner, new, Kind::Completion, false)?;
    let added = responses::own_bytes(new) + tag(s, key, tags)?;
    Ok((lease, evict::make_room(s, owner, None, added)?))
}

fn tags(s: &Session, key: i64) -> Result<Vec<CompletionTag>> {
    s.all("SELECT name, value FROM tag WHERE response = ? ORDER BY rowid", params![key], |row| {
        Ok(CompletionTag { name: row.get(0)?, value: row.get(1)? })
    })
}

/// Adds tags. Returns their counted bytes.
fn tag(s: &Session, key: i64, tags: &[CompletionTag]) -> Result<u64> {
    let mut bytes = 0;
    for CompletionTag { name, value } in tags {
        s.run(
            "INSERT INTO tag (response, owner, name, value) SELECT key, owner, ?2, ?3 FROM response WHERE key = ?1 \
             ON CONFLICT (response, name) DO UPDATE SET value = excluded.value",
            params![key, text(name)?, text(value)?],
        )?;
        bytes += ITEM_BYTES + (name.len() + value.len()) as u64;
    }
    s.run("UPDATE response SET bytes = bytes + ? WHERE key = ?", params![bytes, key])?;
    Ok(bytes)
}

/// A completion once it is paid for, and its key if its age is to be renewed.
pub(crate) fn get(
    s: &Session,
    owner: &Owner,
    id: &str,
    budget: &Budget,
) -> Result<(Completion, Option<i64>)> {
    let row = find(s, owner, id)?;
    let touch = row.to_touch(s);
    let size = format!(
        "SELECT {SIZE} FROM response JOIN body ON body.response = response.key WHERE response.key = ?"
    );
    budget.pay(s.number(&size, params![row.key])?)?;
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
            params![key],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?
        .ok_or(StoreError::NotFound)?;
    Ok(Completion { id, tags: tags(s, key)?, result })
}

pub(crate) fn list(
    s: &Session,
    owner: &Owner,
    tags: &[CompletionTag],
    page: &Page,
    budget: &Budget,
) -> Result<Completions> {
    let behind = match (&page.after, page.order) {
        (Some(after), _) => find(s, owner, after)?.key,
        (None, Order::Ascending) => -1,
        (None, Order::Descending) => i64::MAX,
    };
    let keys = keys(s, owner, tags, behind, page)?;
    let (data, more) = read::fill(page, budget, keys, |key| load(s, key))?;
    Ok(Completions { data, more })
}

/// Size of a completion, in a query that has its body.
const SIZE: &str = "LENGTH(result) + (SELECT COALESCE(SUM(OCTET_LENGTH(name) + OCTET_LENGTH(value)), 0) FROM tag WHERE response = response.key)";

/// Sizes and keys of the completions behind `behind`, one more than the page has room for. A tag is
/// looked up in its index, the last one first: the others are most likely on more completions.
fn keys(
    s: &Session,
    owner: &Owner,
    tags: &[CompletionTag],
    behind: i64,
    page: &Page,
) -> Result<Vec<(u64, i64)>> {
    let mut values = params![owner.name(), s.expired(), behind, page.rows()].to_vec();
    let (key, from, others) = match tags.split_last() {
        None => (
            "response.key",
            "response CROSS JOIN body ON body.response = response.key WHERE response.owner".to_owned(),
            tags,
        ),
        Some((tag, others)) => (
            "listed.response",
            format!(
                "tag AS listed INDEXED BY tag_value CROSS JOIN response ON response.key = listed.response \
             CROSS JOIN body ON body.response = response.key WHERE {} AND listed.owner",
                is_tag(tag, &mut values)
            ),
            others,
        ),
    };
    let others = others.iter().fold(String::new(), |sql, tag| {
        let is_tag = is_tag(tag, &mut values);
        sql + " AND EXISTS (SELECT 1 FROM tag WHERE response = response.key AND " + &is_tag + ")"
    });
    let (order, direction) = match page.order {
        Order::Ascending => (">", "ASC"),
        Order::Descending => ("<", "DESC"),
    };
    let sql = format!(
        "SELECT {SIZE}, response.key FROM {from} = (SELECT key FROM owner WHERE name = ?1) \
         AND {VISIBLE} AND {key} {order} ?3{others} ORDER BY {key} {direction} LIMIT ?4"
    );
    s.all(&sql, &values, |row| Ok((row.get(0)?, row.get(1)?)))
}

/// The condition that a row of `tag` is this tag, whose name and value are added to `values`.
fn is_tag<'a>(tag: &'a CompletionTag, values: &mut Vec<Value<'a>>) -> String {
    values.extend(params![&*tag.name, &*tag.value]);
    format!("name = ?{} AND value = ?{}", values.len() - 1, values.len())
}

pub(crate) fn retag(
    s: &Session,
    owner: &Owner,
    id: &str,
    tags: &[CompletionTag],
) -> Result<((), Option<Debt>)> {
    let row = find(s, owner, id)?;
    s.run(
        "UPDATE response SET used = MAX(used, ?1), bytes = bytes - \
         (SELECT COALESCE(SUM(?2 + OCTET_LENGTH(name) + OCTET_LENGTH(value)), 0) FROM tag WHERE response = key) WHERE key = ?3",
        params![s.now(), ITEM_BYTES, row.key],
    )?;
    s.run("DELETE FROM tag WHERE response = ?", params![row.key])?;
    let tagged = tag(s, row.key, tags)?;
    Ok(((), evict::make_room(s, row.owner, Some(Keep::Response(row.key)), tagged)?))
}

pub(crate) fn items(s: &Session, owner: &Owner, id: &str, page: &Page, budget: &Budget) -> Result<Items> {
    let mut places = Vec::new();
    read::response_places(s, find(s, owner, id)?.key, Some(Side::Input), &mut places)?;
    read::paged(s, places, page, budget)
}

pub(crate) fn delete(s: &Session, owner: &Owner, id: &str) -> Result<()> {
    evict::remove(s, find(s, owner, id)?.key, 0)
}

//! Transactions on conversations. Entries are copies of items, so a conversation needs no response,
//! and no response a deleted conversation.

use std::collections::HashSet;

use super::database::params;

use super::evict::{Debt, Keep};
use super::row::{ConversationRow, body_bytes, counted, owner_key, text};
use super::session::Session;
use super::{evict, read, repeat};
use crate::bounds::{ITEM_BYTES, ROW_BYTES};
use crate::{Budget, Items, Order, Owner, Page, Result, StoreError, StoredConversation, StoredItem, TooLong};

/// A conversation once it is paid for, and its key if its age is to be renewed.
pub(crate) fn get(
    s: &Session,
    owner: &Owner,
    id: &str,
    budget: &Budget,
) -> Result<(StoredConversation, Option<i64>)> {
    budget.pay(ConversationRow::metadata_bytes(s, owner, id)?)?;
    let row = ConversationRow::find(s, owner, id)?;
    let touch = row.to_touch(s);
    Ok((row.shown, touch))
}

/// Renews a conversation's age.
pub(crate) fn touch(s: &Session, key: i64) -> Result<()> {
    s.run("UPDATE conversation SET used = MAX(used, ?) WHERE key = ?", params![s.now(), key])?;
    Ok(())
}

pub(crate) fn create(
    s: &Session,
    owner: &Owner,
    id: &str,
    metadata: &[u8],
    items: &[StoredItem],
) -> Result<(StoredConversation, Option<Debt>)> {
    let owner_key = owner_key(s, owner)?;
    let taken =
        s.number("SELECT COUNT(*) FROM conversation WHERE owner = ? AND id = ?", params![owner_key, id])?;
    if taken > 0 {
        let found = ConversationRow::find(s, owner, id).map_err(|_| StoreError::Duplicate)?;
        let is_same = found.shown.metadata == metadata && read::all_entries(s, found.key)? == items;
        return if is_same { Ok((found.shown, None)) } else { Err(StoreError::Duplicate) };
    }
    s.run(
        "INSERT INTO conversation (owner, id, created, used, metadata, bytes) VALUES (?1, ?2, ?3, ?3, ?4, ?5)",
        params![owner_key, text(id)?, s.now(), metadata, ROW_BYTES + metadata.len() as u64],
    )?;
    let ((), debt) = append(s, owner, id, items)?;
    Ok((ConversationRow::find(s, owner, id)?.shown, debt))
}

pub(crate) fn append(
    s: &Session,
    owner: &Owner,
    id: &str,
    items: &[StoredItem],
) -> Result<((), Option<Debt>)> {
    let row = ConversationRow::find(s, owner, id)?;
    if s.is_repeated.get() && repeat::ends_with(s, &row, items)? {
        return Ok(((), None));
    }
    check_ids(s, &row, items)?;
    if row.items + body_bytes(items) > s.bounds.context_bytes {
        return Err(StoreError::TooLong(TooLong::Bytes));
    }
    add(s, row.key, row.owner, row.next, items)?;
    let debt = evict::make_room(s, row.owner, Some(Keep::Conversation(row.key)), counted(items))?;
    Ok(((), debt))
}

/// Refuses an item whose id another one of `items`, or an entry of the conversation, has: models
/// would read it twice, and pages behind that id would leave entries out.
fn check_ids(s: &Session, row: &ConversationRow, items: &[StoredItem]) -> Result<()> {
    let mut ids = HashSet::new();
    for StoredItem { id, .. } in items {
        let taken = s.number(
            "SELECT EXISTS (SELECT 1 FROM entry WHERE owner = ? AND id = ? AND conversation = ?)",
            params![row.owner, &**id, row.key],
        )?;
        if taken > 0 || !ids.insert(id) {
            return Err(StoreError::DuplicateItem(id.clone()));
        }
    }
    Ok(())
}

/// Adds entries from place `next` on.
fn add(s: &Session, key: i64, owner: i64, next: u64, items: &[StoredItem]) -> Result<()> {
    let mut rows = Vec::with_capacity(items.len());
    for (pos, item) in (next..).zip(items) {
        rows.push(params![key, pos, owner, text(&item.id)?, &item.body[..]].to_vec());
    }
    s.run_each("INSERT INTO entry (conversation, pos, owner, id, body) VALUES (?, ?, ?, ?, ?)", &rows)?;
    s.run(
        "UPDATE conversation SET next = next + ?1, items = items + ?2, bytes = bytes + ?3, used = MAX(used, ?4) WHERE key = ?5",
        params![items.len(), body_bytes(items), counted(items), s.now(), key],
    )?;
    Ok(())
}

/// Frees the conversation of a response that ended, with its items or without. A deleted
/// conversation gets nothing.
pub(crate) fn release(s: &Session, response: i64, keep: bool) -> Result<()> {
    let found =
        s.first("SELECT key, owner, next FROM conversation WHERE running = ?", params![response], |row| {
            Ok((row.get::<i64>(0)?, row.get::<i64>(1)?, row.get::<u64>(2)?))
        })?;
    let Some((key, owner, next)) = found else { return Ok(()) };
    let mut items = Vec::new();
    if keep {
        items.extend(read::own_items(s, response, 0)?);
        items.extend(read::own_items(s, response, 1)?);
    }
    add(s, key, owner, next, &items)?;
    s.run("UPDATE conversation SET running = NULL WHERE key = ?", params![key])?;
    Ok(())
}

pub(crate) fn update(
    s: &Session,
    owner: &Owner,
    id: &str,
    metadata: &[u8],
) -> Result<(StoredConversation, Option<Debt>)> {
    let row = ConversationRow::find(s, owner, id)?;
    s.run(
        "UPDATE conversation SET metadata = ?1, used = MAX(used, ?2), bytes = bytes + ?3 - ?4 WHERE key = ?5",
        params![metadata, s.now(), metadata.len(), row.shown.metadata.len(), row.key],
    )?;
    let debt = evict::make_room(s, row.owner, Some(Keep::Conversation(row.key)), metadata.len() as u64)?;
    Ok((StoredConversation { metadata: metadata.to_vec(), ..row.shown }, debt))
}

pub(crate) fn delete(s: &Session, owner: &Owner, id: &str) -> Result<()> {
    let row = ConversationRow::find(s, owner, id)?;
    s.run("DELETE FROM conversation WHERE key = ?", params![row.key])?;
    Ok(())
}

/// A page of entries, and the conversation's key if its age is to be renewed. The cost depends on
/// the page, not on the conversation.
pub(crate) fn items(
    s: &Session,
    owner: &Owner,
    id: &str,
    page: &Page,
    budget: &Budget,
) -> Result<(Items, Option<i64>)> {
    let row = ConversationRow::find(s, owner, id)?;
    let (end, sql) = match page.order {
        Order::Ascending => ("MAX", "pos > ?2 ORDER BY pos"),
        Order::Descending => ("MIN", "pos < ?2 ORDER BY pos DESC"),
    };
    let behind = match &page.after {
        None if page.order == Order::Ascending => -1,
        None => i64::MAX,
        // An id may occur again. Behind its last place: whoever asks page by page comes to the end.
        Some(after) => s
            .first(
                &format!("SELECT {end}(pos) FROM entry WHERE owner = ? AND id = ? AND conversation = ?"),
                params![row.owner, &**after, row.key],
                |row| row.get::<Option<i64>>(0),
            )?
            .flatten()
            .ok_or(StoreError::NotFound)?,
    };
    let which = format!("WHERE conversation = ?1 AND {sql} LIMIT ?3");
    let places = read::entries(s, &which, params![row.key, behind, page.rows()])?;
    Ok((read::page_of(s, places, page, budget)?, row.to_touch(s)))
}

pub(crate) fn len(s: &Session, owner: &Owner, id: &str) -> Result<u64> {
    let row = ConversationRow::find(s, owner, id)?;
    s.number("SELECT COUNT(*) FROM entry WHERE conversation = ?", params![row.key])
}

/// The newest entry with this id, once it is paid for.
pub(crate) fn item(s: &Session, owner: &Owner, id: &str, item: &str, budget: &Budget) -> Result<StoredItem> {
    let row = ConversationRow::find(s, owner, id)?;
    let (pos, bytes) = newest(s, &row, item)?;
    budget.pay(bytes)?;
    let sql = "SELECT body FROM entry WHERE conversation = ? AND pos = ?";
    let body = s.first(sql, params![row.key, pos], |row| row.get(0))?;
    Ok(StoredItem { id: item.to_owned(), body: body.ok_or(StoreError::NotFound)? })
}

pub(crate) fn remove(s: &Session, owner: &Owner, id: &str, item: &str) -> Result<StoredConversation> {
    let row = ConversationRow::find(s, owner, id)?;
    let (pos, bytes) = match newest(s, &row, item) {
        Err(StoreError::NotFound) if s.is_repeated.get() => return Ok(row.shown),
        found => found?,
    };
    s.run("DELETE FROM entry WHERE conversation = ? AND pos = ?", params![row.key, pos])?;
    s.run(
        "UPDATE conversation SET items = items - ?1, bytes = bytes - ?2, used = MAX(used, ?3) WHERE key = ?4",
        params![bytes, ITEM_BYTES + item.len() as u64 + bytes, s.now(), row.key],
    )?;
    Ok(row.shown)
}

/// Place of the newest entry with this id, and the size of its body.
fn newest(s: &Session, row: &ConversationRow, item: &str) -> Result<(u64, u64)> {
    s.first(
        "SELECT pos, LENGTH(body) FROM entry WHERE owner = ? AND id = ? AND conversation = ? ORDER BY pos DESC LIMIT 1",
        params![row.owner, item, row.key],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?
    .ok_or(StoreError::NotFound)
}

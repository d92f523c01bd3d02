//! What comes before a new response: the chain of responses that it continues, and the entries of the
//! conversation that the chain began in.
//!
//! Invariant: a context is counted before it is read, and paid for as a whole. Counting and reading are a
//! statement each, however long the chain is; `Bounds::links` bounds it.

use std::cmp::Reverse;

use super::database::{Row, params};

use super::read::{Place, entries, paged, response_places, side};
use super::row::{ConversationRow, ResponseRow};
use super::session::Session;
use crate::{Budget, ContextItem, Items, Link, Owner, Page, Result, Side, StoreError, StoredItem};

/// Items of a context whose places nobody pays for, and the memory of each further place in bytes: many
/// tiny items have larger places than bodies.
const FREE_PLACES: u64 = 1024;
const PLACE_BYTES: u64 = 128;

/// The responses of a chain, the last one first.
const CHAIN: &str = "WITH RECURSIVE chain (key, parent, back) AS (SELECT key, parent, 0 FROM response WHERE key = ?1 \
     UNION ALL SELECT response.key, response.parent, back + 1 FROM chain JOIN response ON response.key = chain.parent)";
/// Entries of a conversation that isn't deleted, before a place.
const ENTRIES: &str =
    "WHERE conversation = ?1 AND pos < ?2 AND EXISTS (SELECT 1 FROM conversation WHERE key = ?1)";

/// Where a context's items are.
struct Context {
    /// The last response of the chain.
    last: Option<i64>,
    /// A conversation, and the place of its first entry that isn't in the context.
    root: Option<(i64, u64)>,
}

/// How much a context holds.
#[derive(Default)]
struct Size {
    items: u64,
    /// Bytes of all bodies.
    bytes: u64,
}

/// An item's order in its chain, oldest first: the response's place from the end, the item's side and place.
type ChainOrder = (Reverse<u64>, Side, u64);

/// All items before those of a new response with this link.
pub(crate) fn context(s: &Session, owner: &Owner, link: &Link, budget: &Budget) -> Result<Vec<ContextItem>> {
    let context = Context::of(s, owner, link)?;
    let Size { items, bytes } = context.size(s)?;
    budget.pay(bytes.saturating_add(bytes_of_places(items)))?;
    context.items(s)
}

/// A page of a response's input, with everything before it. All places are paid for before they are read,
/// each body before it is.
pub(crate) fn items(s: &Session, owner: &Owner, id: &str, page: &Page, budget: &Budget) -> Result<Items> {
    let row = ResponseRow::find(s, owner, id)?;
    let context = Context::before(&row);
    let bytes = bytes_of_places(context.size(s)?.items);
    if bytes > 0 {
        budget.pay(bytes)?;
    }
    let mut places = context.places(s)?;
    response_places(s, row.key, Some(Side::Input), &mut places)?;
    paged(s, places, page, budget)
}

fn bytes_of_places(items: u64) -> u64 {
    items.saturating_sub(FREE_PLACES).saturating_mul(PLACE_BYTES)
}

impl Context {
    /// The context of a new response with this link.
    fn of(s: &Session, owner: &Owner, link: &Link) -> Result<Self> {
        let parent = match link {
            Link::Alone | Link::Thread => return Ok(Self { last: None, root: None }),
            Link::Conversation(id) => {
                let key = ConversationRow::find(s, owner, id)?.key;
                return Ok(Self { last: None, root: Some((key, u64::MAX >> 1)) });
            }
            Link::Parent(id) => ResponseRow::find(s, owner, id)?,
            Link::Turn(id) => ResponseRow::find_turn(s, owner, id)?,
        };
        if !parent.continuable() {
            return Err(StoreError::NotFound);
        }
        Ok(Self { last: Some(parent.key), ..Self::before(&parent) })
    }

    /// The context of a stored response.
    fn before(row: &ResponseRow) -> Self {
        Self { last: row.parent, root: row.root.map(|root| (root, row.base)) }
    }

    fn size(&self, s: &Session) -> Result<Size> {
        let mut size = Size::default();
        if let Some((key, before)) = self.root {
            let sql = format!("SELECT COUNT(*), SUM(LENGTH(body)) FROM entry {ENTRIES}");
            size.add(s.first(&sql, params![key, before], |row| Size::read(row, 0))?);
        }
        if let Some(last) = self.last {
            // The first response of a chain has no parent.
            let sql = format!(
                "{CHAIN} SELECT MAX(CASE WHEN parent IS NULL THEN 1 ELSE 0 END), COUNT(body), SUM(LENGTH(body)) FROM chain LEFT JOIN item ON item.response = chain.key"
            );
            let found =
                s.first(&sql, params![last], |row| Ok((row.get::<Option<bool>>(0)?, Size::read(row, 1)?)))?;
            let Some((Some(true), found)) = found else {
                return Err(StoreError::Unavailable(
                    "a response of a chain is missing: run store check".to_owned(),
                ));
            };
            size.add(Some(found));
        }
        Ok(size)
    }

    fn items(&self, s: &Session) -> Result<Vec<ContextItem>> {
        let item = |side, id, body| ContextItem { side, item: StoredItem { id, body } };
        let mut items = match self.root {
            Some((key, before)) => {
                let sql = format!("SELECT id, body FROM entry {ENTRIES} ORDER BY pos");
                s.all(&sql, params![key, before], |row| Ok(item(None, row.get(0)?, row.get(1)?)))?
            }
            None => Vec::new(),
        };
        let chain =
            self.in_chain(s, "body", |row, (_, side, _)| Ok(item(Some(side), row.get(3)?, row.get(4)?)))?;
        items.extend(chain.into_iter().map(|(_, item)| item));
        Ok(items)
    }

    fn places(&self, s: &Session) -> Result<Vec<Place>> {
        let mut places = match self.root {
            Some((key, before)) => entries(s, &format!("{ENTRIES} ORDER BY pos"), params![key, before])?,
            None => Vec::new(),
        };
        let chain = self.in_chain(s, "LENGTH(body), chain.key", |row, (_, side, pos)| {
            Ok(Place { side: Some(side), key: row.get(5)?, pos, id: row.get(3)?, bytes: row.get(4)? })
        })?;
        places.extend(chain.into_iter().map(|(_, place)| place));
        Ok(places)
    }

    /// Reads the items of its chain, in their order. SQLite would hold all of them a second time to sort
    /// them.
    fn in_chain<T>(
        &self,
        s: &Session,
        columns: &str,
        read: impl Fn(&Row<'_>, ChainOrder) -> Result<T>,
    ) -> Result<Vec<(ChainOrder, T)>> {
        let sql = format!(
            "{CHAIN} SELECT back, side, pos, id, {columns} FROM chain CROSS JOIN item ON item.response = chain.key"
        );
        let mut found = match self.last {
            Some(last) => s.all(&sql, params![last], |row| {
                let side = side(row, 1)?;
                let order = (Reverse(row.get(0)?), side, row.get(2)?);
                Ok((order, read(row, order)?))
            })?,
            None => Vec::new(),
        };
        found.sort_unstable_by_key(|(order, _)| *order);
        Ok(found)
    }
}

impl Size {
    /// Reads a number of bodies and the sum of their sizes.
    fn read(row: &Row<'_>, column: usize) -> Result<Self> {
        let bytes = row.get::<Option<u64>>(column + 1)?;
        Ok(Self { items: row.get(column)?, bytes: bytes.unwrap_or_default() })
    }

    fn add(&mut self, other: Option<Self>) {
        let other = other.unwrap_or_default();
        self.items += other.items;
        self.bytes += other.bytes;
    }
}

//! Transactions that read: a response, a context, pages of items, events.

use rusqlite::params;

use super::conversations;
use super::row::{QUEUED, ResponseRow};
use super::session::Session;
use crate::bounds::millis;
use crate::chunk::unpack;
use crate::{
    Chunk, ContextItem, Error, Events, Item, Items, Link, Order, Outcome, Owner, Page, Response, Result,
    Side, State,
};

/// Raw bytes of events after which a call returns: a follower that reads nothing holds as much.
const EVENTS_BYTES: usize = 64 << 10;

/// Where an item is stored.
pub(crate) struct Place {
    /// `None` for a conversation's entry.
    side: Option<Side>,
    /// The response or conversation.
    key: i64,
    pos: u64,
    id: String,
}

/// A response, and its key if its age is to be renewed.
pub(crate) fn response(s: &Session, owner: &Owner, id: &str) -> Result<(Response, Option<i64>)> {
    let row = ResponseRow::find(s, owner, id)?;
    let touch = row.to_touch(s);
    Ok((load(s, row)?, touch))
}

/// The response's key if its age is to be renewed.
pub(crate) fn to_touch(s: &Session, owner: &Owner, id: &str) -> Result<Option<i64>> {
    Ok(ResponseRow::find(s, owner, id)?.to_touch(s))
}

/// A row with its bodies.
pub(crate) fn load(s: &Session, row: ResponseRow) -> Result<Response> {
    let (request, result) = s
        .first("SELECT request, result FROM body WHERE response = ?", [row.key], |r| {
            Ok((r.get(0)?, r.get(1)?))
        })?
        .ok_or(Error::NotFound)?;
    let state = match (row.ended_as(), row.ended) {
        (Some(status), Some(at)) => {
            State::Ended(Outcome { status, at, result, output: own_items(s, row.key, 1)? })
        }
        _ if row.status == QUEUED => State::Queued,
        _ => State::Running,
    };
    Ok(Response {
        id: row.id,
        link: row.link,
        background: row.background,
        created: row.created,
        request,
        state,
    })
}

/// Items of one side of a response.
pub(crate) fn own_items(s: &Session, key: i64, side: u64) -> Result<Vec<Item>> {
    s.all(
        "SELECT id, body FROM item WHERE response = ? AND side = ? ORDER BY pos",
        params![key, side],
        |row| Ok(Item { id: row.get(0)?, body: row.get(1)? }),
    )
}

pub(crate) fn context(s: &Session, owner: &Owner, link: &Link) -> Result<Vec<ContextItem>> {
    let places = match link {
        Link::Alone => Vec::new(),
        Link::Conversation(id) => entries(s, conversations::find(s, owner, id)?.key, u64::MAX >> 1)?,
        Link::Parent(id) => {
            let row = ResponseRow::find(s, owner, id)?;
            if !row.continuable() {
                return Err(Error::NotFound);
            }
            chain(s, Some(row.key), row.root, row.base)?
        }
    };
    places.into_iter().map(|place| Ok(ContextItem { side: place.side, item: place.load(s)? })).collect()
}

pub(crate) fn items(s: &Session, owner: &Owner, id: &str, page: &Page) -> Result<Items> {
    let row = ResponseRow::find(s, owner, id)?;
    let mut places = chain(s, row.parent, row.root, row.base)?;
    response_places(s, row.key, Some(Side::Input), &mut places)?;
    paged(s, places, page)
}

/// Items of a chain that ends with response `last`, oldest first. `Bounds::links` bounds the walk.
fn chain(s: &Session, mut last: Option<i64>, root: Option<i64>, base: u64) -> Result<Vec<Place>> {
    let mut keys = Vec::new();
    while let Some(key) = last {
        keys.push(key);
        last = s.first("SELECT parent FROM response WHERE key = ?", [key], |row| row.get(0))?.ok_or_else(
            || Error::Unavailable("a response of a chain is missing: host store check".to_owned()),
        )?;
    }
    let mut places = match root {
        Some(root) => entries(s, root, base)?,
        None => Vec::new(),
    };
    for key in keys.into_iter().rev() {
        response_places(s, key, None, &mut places)?;
    }
    Ok(places)
}

/// Items of a response, of one side or both.
pub(crate) fn response_places(
    s: &Session,
    key: i64,
    only: Option<Side>,
    places: &mut Vec<Place>,
) -> Result<()> {
    let rows =
        s.all("SELECT side, pos, id FROM item WHERE response = ? ORDER BY side, pos", [key], |row| {
            let side = if row.get(0)? { Side::Output } else { Side::Input };
            Ok(Place { side: Some(side), key, pos: row.get(1)?, id: row.get(2)? })
        })?;
    places.extend(rows.into_iter().filter(|place| only.is_none() || place.side == only));
    Ok(())
}

fn entries(s: &Session, key: i64, before: u64) -> Result<Vec<Place>> {
    let sql = "SELECT pos, id FROM entry WHERE conversation = ? AND pos < ? ORDER BY pos";
    s.all(sql, params![key, before], |row| Ok(Place { side: None, key, pos: row.get(0)?, id: row.get(1)? }))
}

impl Place {
    fn load(self, s: &Session) -> Result<Item> {
        let body = match self.side {
            Some(side) => s.first(
                "SELECT body FROM item WHERE response = ? AND side = ? AND pos = ?",
                params![self.key, side == Side::Output, self.pos],
                |row| row.get(0),
            )?,
            None => s.first(
                "SELECT body FROM entry WHERE conversation = ? AND pos = ?",
                params![self.key, self.pos],
                |row| row.get(0),
            )?,
        };
        Ok(Item { id: self.id, body: body.ok_or(Error::NotFound)? })
    }
}

/// A page of the items at these places, oldest first.
pub(crate) fn paged(s: &Session, mut places: Vec<Place>, page: &Page) -> Result<Items> {
    if page.order == Order::Descending {
        places.reverse();
    }
    let start = match &page.after {
        // An id may occur again. Behind its last place: whoever asks page by page comes to the end.
        Some(after) => places.iter().rposition(|place| place.id == *after).ok_or(Error::NotFound)? + 1,
        None => 0,
    };
    let more = places.len() > start.saturating_add(page.limit);
    let data =
        places.into_iter().skip(start).take(page.limit).map(|place| place.load(s)).collect::<Result<_>>()?;
    Ok(Items { data, more })
}

pub(crate) fn item(s: &Session, owner: &Owner, id: &str) -> Result<Item> {
    let body = s.first(
        "SELECT item.body FROM item JOIN response ON response.key = item.response \
         WHERE item.owner = (SELECT key FROM owner WHERE name = ?1) AND item.id = ?2 AND deleted = 0 AND kind = 0 \
         AND (ended IS NULL OR used > ?3) ORDER BY item.response DESC, side DESC, pos DESC LIMIT 1",
        params![owner.name(), id, s.expired()],
        |row| row.get(0),
    )?;
    let body = match body {
        Some(body) => Some(body),
        None => s.first(
            "SELECT entry.body FROM entry JOIN conversation ON conversation.key = entry.conversation \
             WHERE entry.owner = (SELECT key FROM owner WHERE name = ?1) AND entry.id = ?2 \
             AND (running IS NOT NULL OR used > ?3) ORDER BY entry.conversation DESC, pos DESC LIMIT 1",
            params![owner.name(), id, s.expired()],
            |row| row.get(0),
        )?,
    };
    Ok(Item { id: id.to_owned(), body: body.ok_or(Error::NotFound)? })
}

pub(crate) fn events_after(s: &Session, owner: &Owner, id: &str, after: Option<u64>) -> Result<Events> {
    let row = ResponseRow::find(s, owner, id)?;
    if !row.background {
        return Ok(Events::Unlogged);
    }
    if !row.logged || row.ended.is_some_and(|ended| ended + millis(s.bounds.log_kept) <= s.now()) {
        return Ok(Events::Expired);
    }
    // A number from the request: larger than SQLite's integers, it is behind every event.
    let start = after.map_or(0, |after| after.saturating_add(1)).min(row.events);
    let mut events = Vec::new();
    let mut bytes = 0;
    while bytes < EVENTS_BYTES && start + (events.len() as u64) < row.events {
        let next = start + events.len() as u64;
        let (first, body) = s
            .first(
                "SELECT first, body FROM chunk WHERE response = ? AND first <= ? ORDER BY first DESC LIMIT 1",
                params![row.key, next],
                |r| Ok((r.get::<_, u64>(0)?, r.get::<_, Vec<u8>>(1)?)),
            )?
            .ok_or_else(|| gap(next))?;
        let chunk = unpack(&body)?;
        let skip = usize::try_from(next - first).unwrap_or(usize::MAX);
        if skip >= chunk.len() {
            return Err(gap(next));
        }
        bytes += chunk.iter().skip(skip).map(Vec::len).sum::<usize>();
        events.extend(chunk.into_iter().skip(skip));
    }
    let end = row.ended.is_some() && start + events.len() as u64 == row.events;
    Ok(Events::Log { chunk: Chunk { first: start, events }, end })
}

fn gap(number: u64) -> Error {
    Error::Unavailable(format!("event {number} of a log is missing: host store check"))
}

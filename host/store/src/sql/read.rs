//! Transactions that read: a response, pages of items, events.

use super::database::{Row, Value, params};

use super::row::{QUEUED, ResponseRow};
use super::session::Session;
use crate::bounds::millis;
use crate::chunk::unpack;
use crate::{
    Budget, Chunk, EndedResponse, Events, Items, LogPosition, Order, Owner, Page, Response, Result, Side,
    State, StoreError, StoredItem,
};

/// Raw bytes of events after which a call returns: a follower that reads nothing holds as much.
const EVENTS_BYTES: usize = 64 << 10;

/// Where an item is stored.
pub(crate) struct Place {
    /// `None` for a conversation's entry.
    pub(crate) side: Option<Side>,
    /// The response or conversation.
    pub(crate) key: i64,
    pub(crate) pos: u64,
    pub(crate) id: String,
    /// Size of its body.
    pub(crate) bytes: u64,
}

/// A response once it is paid for, and its key if its age is to be renewed.
pub(crate) fn response(
    s: &Session,
    owner: &Owner,
    id: &str,
    budget: &Budget,
) -> Result<(Response, Option<i64>)> {
    let row = ResponseRow::find(s, owner, id)?;
    let touch = row.to_touch(s);
    let size = "SELECT LENGTH(request) + LENGTH(result) + \
         (SELECT COALESCE(SUM(LENGTH(body)), 0) FROM item WHERE response = ?1 AND side = 1) FROM body WHERE response = ?1";
    budget.pay(s.number(size, params![row.key])?)?;
    Ok((load(s, row)?, touch))
}

/// The response's key if its age is to be renewed.
pub(crate) fn to_touch(s: &Session, owner: &Owner, id: &str) -> Result<Option<i64>> {
    Ok(ResponseRow::find(s, owner, id)?.to_touch(s))
}

/// A row with its bodies.
pub(crate) fn load(s: &Session, row: ResponseRow) -> Result<Response> {
    let (request, result) = s
        .first("SELECT request, result FROM body WHERE response = ?", params![row.key], |r| {
            Ok((r.get(0)?, r.get(1)?))
        })?
        .ok_or(StoreError::NotFound)?;
    let state = match (row.ended_as(), row.ended) {
        (Some(status), Some(at)) => {
            State::Ended(EndedResponse { status, at, result, output: own_items(s, row.key, 1)? })
        }
        _ if row.status == QUEUED => State::Queued,
        _ => State::Running(own_items(s, row.key, 1)?),
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
pub(crate) fn own_items(s: &Session, key: i64, side: u64) -> Result<Vec<StoredItem>> {
    s.all(
        "SELECT id, body FROM item WHERE response = ? AND side = ? ORDER BY pos",
        params![key, side],
        |row| Ok(StoredItem { id: row.get(0)?, body: row.get(1)? }),
    )
}

/// The side that a column of an item says.
pub(crate) fn side(row: &Row<'_>, column: usize) -> Result<Side> {
    Ok(if row.get(column)? { Side::Output } else { Side::Input })
}

/// Items of a response, of one side or both.
pub(crate) fn response_places(
    s: &Session,
    key: i64,
    only: Option<Side>,
    places: &mut Vec<Place>,
) -> Result<()> {
    let sql = "SELECT side, pos, id, LENGTH(body) FROM item WHERE response = ? ORDER BY side, pos";
    let rows = s.all(sql, params![key], |row| {
        Ok(Place { side: Some(side(row, 0)?), key, pos: row.get(1)?, id: row.get(2)?, bytes: row.get(3)? })
    })?;
    places.extend(rows.into_iter().filter(|place| only.is_none() || place.side == only));
    Ok(())
}

/// All items of a conversation.
pub(crate) fn all_entries(s: &Session, conversation: i64) -> Result<Vec<StoredItem>> {
    s.all("SELECT id, body FROM entry WHERE conversation = ? ORDER BY pos", params![conversation], |row| {
        Ok(StoredItem { id: row.get(0)?, body: row.get(1)? })
    })
}

/// Entries that `which` selects, in its order.
pub(crate) fn entries(s: &Session, which: &str, params: &[Value<'_>]) -> Result<Vec<Place>> {
    s.all(
        &format!("SELECT entry.conversation, entry.pos, entry.id, LENGTH(entry.body) FROM entry {which}"),
        params,
        |row| {
            Ok(Place { side: None, key: row.get(0)?, pos: row.get(1)?, id: row.get(2)?, bytes: row.get(3)? })
        },
    )
}

impl Place {
    pub(crate) fn load(self, s: &Session) -> Result<StoredItem> {
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
        Ok(StoredItem { id: self.id, body: body.ok_or(StoreError::NotFound)? })
    }
}

/// A page of the items at these places, oldest first.
pub(crate) fn paged(s: &Session, mut places: Vec<Place>, page: &Page, budget: &Budget) -> Result<Items> {
    if page.order == Order::Descending {
        places.reverse();
    }
    let start = match &page.after {
        // An id may occur again. Behind its last place: whoever asks page by page comes to the end.
        Some(after) => places.iter().rposition(|place| place.id == *after).ok_or(StoreError::NotFound)? + 1,
        None => 0,
    };
    page_of(s, places.into_iter().skip(start), page, budget)
}

/// The page that begins with the first of these places.
pub(crate) fn page_of(
    s: &Session,
    places: impl IntoIterator<Item = Place>,
    page: &Page,
    budget: &Budget,
) -> Result<Items> {
    let sized = places.into_iter().map(|place| (place.bytes, place));
    let (data, more) = fill(page, budget, sized, |place| place.load(s))?;
    Ok(Items { data, more })
}

/// Loads elements, each with its size, until a page is full. Each is paid for before that. Returns
/// whether more follow.
pub(crate) fn fill<P, T>(
    page: &Page,
    budget: &Budget,
    elements: impl IntoIterator<Item = (u64, P)>,
    load: impl Fn(P) -> Result<T>,
) -> Result<(Vec<T>, bool)> {
    let mut rest = elements.into_iter().peekable();
    let (mut data, mut bytes) = (Vec::new(), 0_u64);
    while let Some((size, element)) = rest.next_if(|(size, _)| page.has_room(data.len(), bytes, *size)) {
        bytes = bytes.saturating_add(size);
        budget.pay(size)?;
        data.push(load(element)?);
    }
    Ok((data, rest.peek().is_some()))
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
                |r| Ok((r.get::<u64>(0)?, r.get::<Vec<u8>>(1)?)),
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
    let position = LogPosition { response: row.key, next: start + events.len() as u64 };
    Ok(Events::Log { chunk: Chunk { first: start, events }, end, position })
}

fn gap(number: u64) -> StoreError {
    StoreError::Unavailable(format!("event {number} of a log is missing: run store check"))
}

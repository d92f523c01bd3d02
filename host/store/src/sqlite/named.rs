//! Items by their ids: of several that have one id, the newest.

use rusqlite::params;

use super::session::Session;
use crate::{Budget, Owner, Result, StoredItem};

/// Tables that have items: a query for the newest place of an id and its size, and one for the body
/// at a place.
const TABLES: [[&str; 2]; 2] = [
    [
        "SELECT item.rowid, LENGTH(item.body) FROM item JOIN response ON response.key = item.response \
         WHERE item.owner = (SELECT key FROM owner WHERE name = ?1) AND item.id = ?2 AND deleted = 0 AND kind = 0 \
         AND (ended IS NULL OR used > ?3) ORDER BY item.response DESC, side DESC, pos DESC LIMIT 1",
        "SELECT body FROM item WHERE rowid = ?",
    ],
    [
        "SELECT entry.rowid, LENGTH(entry.body) FROM entry JOIN conversation ON conversation.key = entry.conversation \
         WHERE entry.owner = (SELECT key FROM owner WHERE name = ?1) AND entry.id = ?2 \
         AND (running IS NOT NULL OR used > ?3) ORDER BY entry.conversation DESC, pos DESC LIMIT 1",
        "SELECT body FROM entry WHERE rowid = ?",
    ],
];

/// The newest item of this id, once it is paid for.
pub(crate) fn item(s: &Session, owner: &Owner, id: String, budget: &Budget) -> Result<Option<StoredItem>> {
    for [place, body] in TABLES {
        let found = s.first(place, params![owner.name(), id, s.expired()], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, u64>(1)?))
        })?;
        if let Some((place, bytes)) = found {
            budget.pay(bytes)?;
            let body = s.first(body, [place], |row| row.get(0))?;
            return Ok(body.map(|body| StoredItem { id, body }));
        }
    }
    Ok(None)
}

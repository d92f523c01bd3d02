//! Items by their ids: of several that have one id, the newest.

use super::database::params;
use super::read::{self, Place};
use super::session::Session;
use crate::{Budget, Owner, Result, StoredItem};

const IN_RESPONSES: &str = "SELECT item.response, side, pos, LENGTH(item.body) FROM item JOIN response ON response.key = item.response \
     WHERE item.owner = (SELECT key FROM owner WHERE name = ?1) AND item.id = ?2 AND deleted = 0 AND kind = 0 \
     AND (ended IS NULL OR used > ?3) ORDER BY item.response DESC, side DESC, pos DESC LIMIT 1";
const IN_CONVERSATIONS: &str = "JOIN conversation ON conversation.key = entry.conversation \
     WHERE entry.owner = (SELECT key FROM owner WHERE name = ?1) AND entry.id = ?2 \
     AND (running IS NOT NULL OR used > ?3) ORDER BY entry.conversation DESC, pos DESC LIMIT 1";

/// The newest item of this id, once it is paid for.
pub(crate) fn item(s: &Session, owner: &Owner, id: &str, budget: &Budget) -> Result<Option<StoredItem>> {
    let which = params![owner.name(), id, s.expired()];
    let in_response = s.first(IN_RESPONSES, which, |row| {
        Ok(Place {
            side: Some(read::side(row, 1)?),
            key: row.get(0)?,
            pos: row.get(2)?,
            id: String::new(),
            bytes: row.get(3)?,
        })
    })?;
    let place = match in_response {
        Some(place) => Some(place),
        None => read::entries(s, IN_CONVERSATIONS, which)?.pop(),
    };
    let Some(place) = place else { return Ok(None) };
    budget.pay(place.bytes)?;
    Place { id: id.to_owned(), ..place }.load(s).map(Some)
}

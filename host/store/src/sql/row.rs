//! Rows of responses and conversations, as every transaction looks them up: by owner and id, and
//! only those that are visible.

use super::database::{Row, params};

use super::session::Session;
use crate::bounds::{ITEM_BYTES, TOUCH, millis};
use crate::{Lease, Link, Millis, Owner, Result, Status, StoreError, StoredConversation, StoredItem};

pub(crate) const QUEUED: u64 = 0;
pub(crate) const RUNNING: u64 = 1;

/// Bytes that are counted for a chunk beside its body.
pub(crate) const CHUNK_ROW: u64 = 40;

/// What a row of table `response` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Response,
    Completion,
    Turn,
}

impl Kind {
    /// What a response with this link is.
    pub(crate) fn of(link: &Link) -> Self {
        if matches!(link, Link::Thread | Link::Turn(_)) { Self::Turn } else { Self::Response }
    }

    pub(crate) fn number(self) -> i64 {
        match self {
            Self::Response => 0,
            Self::Completion => 1,
            Self::Turn => 2,
        }
    }

    fn of_number(number: i64) -> Self {
        match number {
            0 => Self::Response,
            1 => Self::Completion,
            _ => Self::Turn,
        }
    }
}

/// A row of table `response`, without bodies.
pub(crate) struct ResponseRow {
    pub(crate) key: i64,
    pub(crate) owner: i64,
    pub(crate) id: String,
    pub(crate) status: u64,
    pub(crate) background: bool,
    pub(crate) kind: Kind,
    pub(crate) parent: Option<i64>,
    pub(crate) link: Link,
    pub(crate) children: u64,
    pub(crate) depth: u64,
    pub(crate) context: u64,
    pub(crate) root: Option<i64>,
    pub(crate) base: u64,
    pub(crate) created: Millis,
    pub(crate) ended: Option<Millis>,
    pub(crate) used: Millis,
    pub(crate) host: Option<String>,
    pub(crate) epoch: u64,
    pub(crate) events: u64,
    pub(crate) log_bytes: u64,
    pub(crate) logged: bool,
    pub(crate) deleted: bool,
}

/// Columns of a [`ResponseRow`], in the order in which it is read.
const COLUMNS: &str = "key, owner, id, status, background, parent, parent_id, conversation, children, depth, context, root, base, \
     created, ended, used, host, epoch, events, log_bytes, logged, deleted, kind";

impl ResponseRow {
    fn read(row: &Row<'_>) -> Result<Self> {
        let kind = Kind::of_number(row.get(22)?);
        let link = match (row.get(6)?, row.get(7)?, kind) {
            (Some(turn), _, Kind::Turn) => Link::Turn(turn),
            (None, _, Kind::Turn) => Link::Thread,
            (Some(parent), _, _) => Link::Parent(parent),
            (None, Some(conversation), _) => Link::Conversation(conversation),
            (None, None, _) => Link::Alone,
        };
        Ok(Self {
            key: row.get(0)?,
            owner: row.get(1)?,
            id: row.get(2)?,
            status: row.get(3)?,
            background: row.get(4)?,
            parent: row.get(5)?,
            link,
            children: row.get(8)?,
            depth: row.get(9)?,
            context: row.get(10)?,
            root: row.get(11)?,
            base: row.get(12)?,
            created: row.get(13)?,
            ended: row.get(14)?,
            used: row.get(15)?,
            host: row.get(16)?,
            epoch: row.get(17)?,
            events: row.get(18)?,
            log_bytes: row.get(19)?,
            logged: row.get(20)?,
            deleted: row.get(21)?,
            kind,
        })
    }

    /// The row of a visible response.
    pub(crate) fn find(s: &Session, owner: &Owner, id: &str) -> Result<Self> {
        let row = Self::find_any(s, owner, id)?;
        if row.kind == Kind::Response { Ok(row) } else { Err(StoreError::NotFound) }
    }

    /// The row of a thread's turn that may be continued.
    pub(crate) fn find_turn(s: &Session, owner: &Owner, id: &str) -> Result<Self> {
        let row = Self::find_any(s, owner, id)?;
        if row.kind == Kind::Turn && row.continuable() { Ok(row) } else { Err(StoreError::NotFound) }
    }

    /// The row with this id, visible or not.
    pub(crate) fn with_id(s: &Session, owner: &Owner, id: &str) -> Result<Option<Self>> {
        let sql = format!(
            "SELECT {COLUMNS} FROM response WHERE owner = (SELECT key FROM owner WHERE name = ?) AND id = ?"
        );
        s.first_locked(&sql, params![owner.name(), id], Self::read)
    }

    /// The row of a visible response, chat completion or turn.
    pub(crate) fn find_any(s: &Session, owner: &Owner, id: &str) -> Result<Self> {
        let row = Self::with_id(s, owner, id)?.ok_or(StoreError::NotFound)?;
        if row.deleted || (row.ended.is_some() && row.used <= s.expired()) {
            return Err(StoreError::NotFound);
        }
        Ok(row)
    }

    /// Its key if its age is to be renewed.
    pub(crate) fn to_touch(&self, s: &Session) -> Option<i64> {
        (self.ended.is_some() && self.used + millis(TOUCH) <= s.now()).then_some(self.key)
    }

    /// The row with this key, visible or not.
    pub(crate) fn get(s: &Session, key: i64) -> Result<Self> {
        let sql = format!("SELECT {COLUMNS} FROM response WHERE key = ?");
        s.first(&sql, params![key], Self::read)?
            .ok_or_else(|| StoreError::Unavailable(format!("response {key} is missing")))
    }

    /// The row of a response that this lease may write to.
    pub(crate) fn leased(s: &Session, lease: &Lease) -> Result<Self> {
        let row = Self::find_any(s, &lease.owner, &lease.id)?;
        if row.held_by(lease) { Ok(row) } else { Err(StoreError::LeaseLost) }
    }

    /// Whether it runs under this lease.
    pub(crate) fn held_by(&self, lease: &Lease) -> bool {
        self.ended.is_none() && self.was_held_by(lease)
    }

    /// Whether this lease is the last one on it.
    pub(crate) fn was_held_by(&self, lease: &Lease) -> bool {
        self.epoch == lease.epoch && self.host.as_deref() == Some(&*lease.host)
    }

    /// How it ended; none while it doesn't.
    pub(crate) fn ended_as(&self) -> Option<Status> {
        match self.status {
            QUEUED | RUNNING => None,
            2 => Some(Status::Completed),
            3 => Some(Status::Incomplete),
            4 => Some(Status::Cancelled),
            _ => Some(Status::Failed),
        }
    }

    /// Whether a new response may continue it.
    pub(crate) fn continuable(&self) -> bool {
        self.ended_as().is_some_and(|status| status != Status::Failed)
    }
}

/// A status as its column has it.
pub(crate) fn status_number(status: Status) -> u64 {
    match status {
        Status::Completed => 2,
        Status::Incomplete => 3,
        Status::Cancelled => 4,
        Status::Failed => 5,
    }
}

/// An owner's key, made if the owner is new. Its lock is the transaction's from then on.
pub(crate) fn owner_key(s: &Session, owner: &Owner) -> Result<i64> {
    let find =
        || s.first_locked("SELECT key FROM owner WHERE name = ?", params![owner.name()], |row| row.get(0));
    if let Some(key) = find()? {
        return Ok(key);
    }
    s.run("INSERT INTO owner (name) VALUES (?) ON CONFLICT DO NOTHING", params![text(owner.name())?])?;
    find()?.ok_or_else(|| StoreError::Unavailable("a new owner has no key".to_owned()))
}

/// This text, if it can be stored as one that is searched.
pub(crate) fn text(text: &str) -> Result<&str> {
    if text.contains('\0') { Err(StoreError::Nul) } else { Ok(text) }
}

/// A row of table `conversation`.
pub(crate) struct ConversationRow {
    pub(crate) key: i64,
    pub(crate) owner: i64,
    /// Place of the next entry.
    pub(crate) next: u64,
    /// The response that holds it.
    pub(crate) running: Option<i64>,
    /// Bytes of its entries.
    pub(crate) items: u64,
    pub(crate) used: u64,
    pub(crate) shown: StoredConversation,
}

impl ConversationRow {
    /// Its key, if its age is to be renewed now that it is read.
    pub(crate) fn to_touch(&self, s: &Session) -> Option<i64> {
        (self.used + millis(TOUCH) <= s.now()).then_some(self.key)
    }

    /// Size of a conversation's metadata.
    pub(crate) fn metadata_bytes(s: &Session, owner: &Owner, id: &str) -> Result<u64> {
        let sql = "SELECT LENGTH(metadata) FROM conversation WHERE owner = (SELECT key FROM owner WHERE name = ?) AND id = ?";
        s.first(sql, params![owner.name(), id], |row| row.get(0))?.ok_or(StoreError::NotFound)
    }

    /// The row of a visible conversation.
    pub(crate) fn find(s: &Session, owner: &Owner, id: &str) -> Result<Self> {
        let row = s.first_locked(
            "SELECT key, owner, next, running, items, created, metadata, used FROM conversation \
             WHERE owner = (SELECT key FROM owner WHERE name = ?) AND id = ?",
            params![owner.name(), id],
            |row| {
                let shown =
                    StoredConversation { id: id.to_owned(), created: row.get(5)?, metadata: row.get(6)? };
                let found = Self {
                    key: row.get(0)?,
                    owner: row.get(1)?,
                    next: row.get(2)?,
                    running: row.get(3)?,
                    items: row.get(4)?,
                    used: row.get(7)?,
                    shown,
                };
                Ok(found)
            },
        )?;
        let found = row.ok_or(StoreError::NotFound)?;
        if found.running.is_none() && found.used <= s.expired() {
            Err(StoreError::NotFound)
        } else {
            Ok(found)
        }
    }
}

/// Bytes that items have in a context.
pub(crate) fn body_bytes(items: &[StoredItem]) -> u64 {
    items.iter().map(|item| item.body.len() as u64).sum()
}

/// Bytes that are counted for stored items.
pub(crate) fn counted(items: &[StoredItem]) -> u64 {
    items.iter().map(|item| ITEM_BYTES + (item.id.len() + item.body.len()) as u64).sum()
}

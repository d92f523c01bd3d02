//! Transactions that write responses: create, enqueue, append, finish, delete.

use super::database::params;

use super::evict::Debt;
use super::row::{
    CHUNK_ROW, ConversationRow, Kind, QUEUED, RUNNING, ResponseRow, body_bytes, counted, owner_key,
    status_number, text,
};
use super::session::Session;
use super::{conversations, evict, read, repeat, served};
use crate::bounds::ROW_BYTES;
use crate::chunk::Packed;
use crate::{
    End, Finished, Full, Lease, Link, Needs, NewResponse, Owner, Result, Status, StoreError, StoredItem,
    TooLong,
};

/// What a link brings to a new response.
struct Before {
    parent: Option<i64>,
    depth: u64,
    context: u64,
    /// Conversation that the chain began in, and how much of it belongs to the context.
    root: Option<i64>,
    base: u64,
}

pub(crate) fn create(s: &Session, owner: &Owner, new: &NewResponse) -> Result<(Lease, Option<Debt>)> {
    let kind = Kind::of(&new.link);
    let lease = Lease { owner: owner.clone(), id: new.id.clone(), host: s.host(), epoch: 1 };
    if let Some(row) = repeat::created(s, owner, new, kind, false)? {
        return if row.held_by(&lease) { Ok((lease, None)) } else { Err(StoreError::Duplicate) };
    }
    let (_, owner_key) = insert(s, owner, new, kind, false)?;
    Ok((lease, evict::make_room(s, owner_key, None, own_bytes(new))?))
}

pub(crate) fn enqueue(
    s: &Session,
    owner: &Owner,
    needs: &Needs,
    new: &NewResponse,
    log: &[Packed],
) -> Result<((), Option<Debt>)> {
    if repeat::created(s, owner, new, Kind::Response, true)?.is_some() {
        return Ok(((), None));
    }
    let (key, owner_key) = insert(s, owner, new, Kind::Response, true)?;
    let waiting = s.number(
        "SELECT COUNT(*) FROM response WHERE owner = ? AND ended IS NULL AND background = 1 AND status = 0",
        params![owner_key],
    )?;
    if waiting > s.bounds.queued {
        return Err(StoreError::QueueFull(s.bounds.queued));
    }
    if !log.is_empty() {
        log_chunks(s, &ResponseRow::get(s, key)?, QUEUED, 0, log)?;
    }
    s.run(
        "UPDATE response SET model = ?, version = ? WHERE key = ?",
        params![text(&needs.model)?, needs.version, key],
    )?;
    served::note(s, &needs.model, needs.version)?;
    Ok(((), evict::make_room(s, owner_key, None, own_bytes(new))?))
}

/// Bytes that are counted for a new response.
pub(crate) fn own_bytes(new: &NewResponse) -> u64 {
    ROW_BYTES + new.request.len() as u64 + counted(&new.input)
}

/// Stores a new response. Returns its key and its owner's.
pub(crate) fn insert(
    s: &Session,
    owner: &Owner,
    new: &NewResponse,
    kind: Kind,
    background: bool,
) -> Result<(i64, i64)> {
    let owner_key = owner_key(s, owner)?;
    let before = link(s, owner, &new.link)?;
    let own = body_bytes(&new.input);
    if before.context + own > s.bounds.context_bytes {
        return Err(StoreError::TooLong(TooLong::Bytes));
    }
    let (parent_id, conversation) = match &new.link {
        Link::Alone | Link::Thread => (None, None),
        Link::Parent(id) | Link::Turn(id) => (Some(id), None),
        Link::Conversation(id) => (None, Some(id)),
    };
    let (status, host, runs, lease) =
        if background { (QUEUED, None, 0_u64, 0) } else { (RUNNING, Some(s.host()), 1, s.lease_end()) };
    let inserted = s.first(
        "INSERT INTO response (owner, id, status, background, parent, parent_id, depth, context, conversation, root, base, created, used, \
         logged, bytes, host, epoch, tries, lease, kind) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12, ?4, ?13, ?14, ?15, ?15, ?16, ?17) RETURNING key",
        params![
            owner_key,
            text(&new.id)?,
            status,
            background,
            before.parent,
            parent_id.map(String::as_str),
            before.depth,
            before.context + own,
            conversation.map(String::as_str),
            before.root,
            before.base,
            s.now(),
            own_bytes(new),
            host.as_deref(),
            runs,
            lease,
            kind.number(),
        ],
        |row| row.get(0),
    )?;
    let key = inserted.ok_or_else(|| StoreError::Unavailable("a new row has no key".to_owned()))?;
    s.run(
        "INSERT INTO body (response, request, result) VALUES (?, ?, ?)",
        params![key, &new.request[..], &[][..]],
    )?;
    insert_items(s, key, owner_key, 0, 0, &new.input)?;
    if conversation.is_some() {
        s.run("UPDATE conversation SET running = ? WHERE key = ?", params![key, before.root])?;
    }
    Ok((key, owner_key))
}

/// Checks what a new response continues, and marks it as used.
fn link(s: &Session, owner: &Owner, link: &Link) -> Result<Before> {
    let before = match link {
        Link::Alone | Link::Thread => Before { parent: None, depth: 1, context: 0, root: None, base: 0 },
        Link::Parent(id) => {
            let parent = ResponseRow::find(s, owner, id)?;
            if !parent.continuable() {
                return Err(StoreError::NotFound);
            }
            child_of(s, &parent)?
        }
        Link::Turn(id) => {
            let turn = ResponseRow::find_turn(s, owner, id)?;
            if turn.children > 0 {
                let running = "SELECT COUNT(*) FROM response WHERE parent = ? AND ended IS NULL";
                return Err(StoreError::Continued { running: s.number(running, params![turn.key])? > 0 });
            }
            child_of(s, &turn)?
        }
        Link::Conversation(id) => {
            let conversation = ConversationRow::find(s, owner, id)?;
            if conversation.running.is_some() {
                return Err(StoreError::Locked);
            }
            Before {
                parent: None,
                depth: 1,
                context: conversation.items,
                root: Some(conversation.key),
                base: conversation.next,
            }
        }
    };
    if before.root.is_some() {
        s.run("UPDATE conversation SET used = MAX(used, ?) WHERE key = ?", params![s.now(), before.root])?;
    }
    Ok(before)
}

/// What a response brings to one that continues it, which counts as its use.
fn child_of(s: &Session, parent: &ResponseRow) -> Result<Before> {
    if parent.depth >= s.bounds.links {
        return Err(StoreError::TooLong(TooLong::Links));
    }
    s.run(
        "UPDATE response SET children = children + 1, used = MAX(used, ?) WHERE key = ?",
        params![s.now(), parent.key],
    )?;
    Ok(Before {
        parent: Some(parent.key),
        depth: parent.depth + 1,
        context: parent.context,
        root: parent.root,
        base: parent.base,
    })
}

pub(crate) fn append(s: &Session, lease: &Lease, first: u64, chunks: &[Packed]) -> Result<()> {
    let row = ResponseRow::leased(s, lease)?;
    if repeat::has_chunks(s, &row, first, chunks)? {
        return Ok(());
    }
    let added: u64 = chunks.iter().map(|chunk| CHUNK_ROW + chunk.body.len() as u64).sum();
    if row.log_bytes + added > s.bounds.log_bytes {
        return Err(StoreError::Full(Full::Log));
    }
    log_chunks(s, &row, RUNNING, first, chunks)
}

/// Adds chunks to the log of a response, which has this status from then on. Their bytes are counted
/// for its owner when it ends.
fn log_chunks(s: &Session, row: &ResponseRow, status: u64, first: u64, chunks: &[Packed]) -> Result<()> {
    let Some(last) = chunks.last().filter(|_| first == row.events && row.background) else {
        return Err(StoreError::Sequence { expected: row.events });
    };
    let rows: Vec<_> = chunks
        .iter()
        .map(|chunk| params![row.key, chunk.first, chunk.last, &chunk.body[..]].to_vec())
        .collect();
    s.run_each("INSERT INTO chunk (response, first, last, body) VALUES (?, ?, ?, ?)", &rows)?;
    let added: u64 = chunks.iter().map(|chunk| CHUNK_ROW + chunk.body.len() as u64).sum();
    s.run(
        "UPDATE response SET status = ?, events = ?, log_bytes = log_bytes + ? WHERE key = ?",
        params![status, last.last + 1, added, row.key],
    )?;
    Ok(())
}

pub(crate) fn add_output(s: &Session, lease: &Lease, first: u64, items: &[StoredItem]) -> Result<()> {
    let row = ResponseRow::leased(s, lease)?;
    let stored = output_len(s, row.key)?;
    if first < stored && repeat::has_output(s, row.key, first, items)? {
        return Ok(());
    }
    if row.background || row.kind != Kind::Response || first != stored {
        return Err(StoreError::Sequence { expected: stored });
    }
    insert_output(s, &row, stored, items)
}

/// Items of a response's output.
fn output_len(s: &Session, key: i64) -> Result<u64> {
    s.number("SELECT COUNT(*) FROM item WHERE response = ? AND side = 1", params![key])
}

/// Adds items to a response's output, behind the `first` that it has.
fn insert_output(s: &Session, row: &ResponseRow, first: u64, items: &[StoredItem]) -> Result<()> {
    insert_items(s, row.key, row.owner, 1, first, items)?;
    s.run(
        "UPDATE response SET bytes = bytes + ?1, context = context + ?2 WHERE key = ?3",
        params![counted(items), body_bytes(items), row.key],
    )?;
    Ok(())
}

pub(crate) fn finish(
    s: &Session,
    lease: &Lease,
    end: &End,
    last: Option<&(u64, Vec<Packed>)>,
) -> Result<Finished> {
    let row = ResponseRow::find_any(s, &lease.owner, &lease.id)?;
    if row.ended.is_some() {
        let is_repeated = repeat::has_end(s, &row, lease, end, last)?;
        return Ok(if is_repeated { Finished::Now } else { Finished::Before(read::load(s, row)?) });
    }
    if !row.held_by(lease) {
        return Err(StoreError::LeaseLost);
    }
    if row.kind != Kind::Response && !matches!(end.status, Status::Completed | Status::Incomplete) {
        evict::remove(s, row.key, 0)?;
        return Ok(Finished::Now);
    }
    if let Some((first, chunks)) = last {
        log_chunks(s, &row, RUNNING, *first, chunks)?;
    }
    let stored = output_len(s, row.key)?;
    let rest = usize::try_from(stored).ok().and_then(|stored| end.output.get(stored..)).unwrap_or_default();
    insert_items(s, row.key, row.owner, 1, stored, rest)?;
    s.run("UPDATE body SET result = ? WHERE response = ?", params![&end.result[..], row.key])?;
    s.run(
        "UPDATE response SET status = ?1, ended = ?2, used = MAX(used, ?2), bytes = bytes + log_bytes + ?3, context = context + ?4 WHERE key = ?5",
        params![
            status_number(end.status),
            s.now(),
            end.result.len() as u64 + counted(rest),
            body_bytes(rest),
            row.key,
        ],
    )?;
    if matches!(row.link, Link::Conversation(_)) {
        let keep = matches!(end.status, Status::Completed | Status::Incomplete);
        conversations::release(s, row.key, keep)?;
    }
    Ok(Finished::Now)
}

pub(crate) fn delete(s: &Session, owner: &Owner, id: &str) -> Result<()> {
    let row = ResponseRow::find(s, owner, id)?;
    evict::remove(s, row.key, row.children)
}

/// Renews the age of a response (use makes nothing older, wherever the clock stands) and of the
/// conversation that its chain began in.
pub(crate) fn touch(s: &Session, key: i64) -> Result<()> {
    s.run("UPDATE response SET used = MAX(used, ?) WHERE key = ?", params![s.now(), key])?;
    s.run(
        "UPDATE conversation SET used = MAX(used, ?) WHERE key = (SELECT root FROM response WHERE key = ?)",
        params![s.now(), key],
    )?;
    Ok(())
}

fn insert_items(
    s: &Session,
    key: i64,
    owner: i64,
    side: u64,
    first: u64,
    items: &[StoredItem],
) -> Result<()> {
    let mut rows = Vec::with_capacity(items.len());
    for (pos, item) in (first..).zip(items) {
        rows.push(params![key, side, pos, owner, text(&item.id)?, &item.body[..]].to_vec());
    }
    s.run_each("INSERT INTO item (response, side, pos, owner, id, body) VALUES (?, ?, ?, ?, ?, ?)", &rows)
}

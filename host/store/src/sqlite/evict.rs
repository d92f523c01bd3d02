//! Removal: by age, by bytes, by an operator. What runs or is needed by a living response is never
//! evicted.

use rusqlite::params;

use super::session::Session;
use crate::bounds::millis;
use crate::{Error, Evicted, Full, Purge, Result};

/// Rows of one kind that one call removes.
const REMOVED: u64 = 256;

/// Pages that are given back to the file system at once.
const PAGES: usize = 1024;

/// What is being changed, and so isn't evicted.
#[derive(Clone, Copy)]
pub(crate) enum Keep {
    Conversation(i64),
    Response(i64),
}

pub(crate) fn evict(s: &Session) -> Result<Evicted> {
    let mut evicted = Evicted::default();
    let kept_since = s.now().saturating_sub(millis(s.bounds.log_kept));
    for key in s.all(
        "SELECT key FROM response WHERE ended IS NOT NULL AND logged = 1 AND ended <= ? ORDER BY ended LIMIT ?",
        params![kept_since, REMOVED],
        |row| row.get(0),
    )? {
        drop_log(s, key)?;
        evicted.logs += 1;
    }
    for key in s.all(
        "SELECT key FROM response WHERE ended IS NOT NULL AND children = 0 AND used <= ? ORDER BY used LIMIT ?",
        params![s.expired(), REMOVED],
        |row| row.get(0),
    )? {
        erase(s, key)?;
        evicted.responses += 1;
    }
    evicted.conversations += s.run(
        "DELETE FROM conversation WHERE key IN \
         (SELECT key FROM conversation WHERE running IS NULL AND used <= ? ORDER BY used LIMIT ?)",
        params![s.expired(), REMOVED],
    )? as u64;
    let full = s.all("SELECT key FROM owner WHERE bytes > ?", [s.bounds.owner_bytes], |row| row.get(0))?;
    for owner in full {
        while owner_bytes(s, owner)? > s.bounds.owner_bytes
            && evict_oldest(s, Some(owner), None, &mut evicted)?
        {}
    }
    while total_bytes(s)? > s.bounds.bytes && evict_oldest(s, None, None, &mut evicted)? {}
    shrink(s)?;
    s.count(evicted);
    Ok(evicted)
}

/// Evicts until the bounds hold, `keep` and what runs excepted.
pub(crate) fn make_room(s: &Session, owner: i64, keep: Option<Keep>) -> Result<()> {
    let mut evicted = Evicted::default();
    while owner_bytes(s, owner)? > s.bounds.owner_bytes {
        if !evict_oldest(s, Some(owner), keep, &mut evicted)? {
            return Err(Error::Full(Full::Owner));
        }
    }
    while total_bytes(s)? > s.bounds.bytes {
        if !evict_oldest(s, None, keep, &mut evicted)? {
            return Err(Error::Full(Full::Store));
        }
    }
    s.count(evicted);
    Ok(())
}

fn owner_bytes(s: &Session, owner: i64) -> Result<u64> {
    s.number("SELECT bytes FROM owner WHERE key = ?", [owner])
}

fn total_bytes(s: &Session) -> Result<u64> {
    s.number("SELECT COALESCE(SUM(bytes), 0) FROM owner", [])
}

/// Evicts the leaf or conversation that wasn't used for longest, of one owner or of all. Returns
/// whether there was one.
fn evict_oldest(s: &Session, owner: Option<i64>, keep: Option<Keep>, evicted: &mut Evicted) -> Result<bool> {
    let leaf = "ended IS NOT NULL AND children = 0 AND key IS NOT ?1 ORDER BY used, key LIMIT 1";
    let idle = "running IS NULL AND key IS NOT ?1 ORDER BY used, key LIMIT 1";
    let (kept_response, kept_conversation) = match keep {
        Some(Keep::Response(key)) => (Some(key), None),
        Some(Keep::Conversation(key)) => (None, Some(key)),
        None => (None, None),
    };
    let read = |row: &rusqlite::Row<'_>| Ok((row.get::<_, u64>(0)?, row.get::<_, i64>(1)?));
    let (response, conversation) = match owner {
        Some(owner) => (
            s.first(
                &format!("SELECT used, key FROM response WHERE owner = ?2 AND {leaf}"),
                params![kept_response, owner],
                read,
            )?,
            s.first(
                &format!("SELECT used, key FROM conversation WHERE owner = ?2 AND {idle}"),
                params![kept_conversation, owner],
                read,
            )?,
        ),
        None => (
            s.first(&format!("SELECT used, key FROM response WHERE {leaf}"), [kept_response], read)?,
            s.first(&format!("SELECT used, key FROM conversation WHERE {idle}"), [kept_conversation], read)?,
        ),
    };
    let oldest =
        [response.map(|(used, key)| (used, false, key)), conversation.map(|(used, key)| (used, true, key))];
    match oldest.into_iter().flatten().min() {
        None => return Ok(false),
        Some((_, false, key)) => {
            erase(s, key)?;
            evicted.responses += 1;
        }
        Some((_, true, key)) => {
            s.run("DELETE FROM conversation WHERE key = ?", [key])?;
            evicted.conversations += 1;
        }
    }
    Ok(true)
}

/// Makes a response unknown. With children, its items stay for them.
pub(crate) fn remove(s: &Session, key: i64, children: u64) -> Result<()> {
    if children == 0 {
        return erase(s, key);
    }
    drop_log(s, key)?;
    s.run(
        "UPDATE response SET deleted = 1, bytes = bytes - \
         (SELECT LENGTH(request) + LENGTH(result) FROM body WHERE response = key) WHERE key = ?",
        [key],
    )?;
    s.run("UPDATE body SET request = x'', result = x'' WHERE response = ?", [key])?;
    Ok(())
}

/// Erases a leaf, and the deleted responses that were kept for it alone. Triggers take its items,
/// log and lock with it.
fn erase(s: &Session, key: i64) -> Result<()> {
    let mut next = Some(key);
    while let Some(key) = next {
        let parent: Option<i64> =
            s.first("SELECT parent FROM response WHERE key = ?", [key], |row| row.get(0))?.flatten();
        s.run("DELETE FROM response WHERE key = ?", [key])?;
        next = s.first(
            "SELECT key FROM response WHERE key = ? AND deleted = 1 AND children = 0",
            [parent],
            |row| row.get(0),
        )?;
    }
    Ok(())
}

fn drop_log(s: &Session, key: i64) -> Result<()> {
    s.run("DELETE FROM chunk WHERE response = ?", [key])?;
    s.run("UPDATE response SET logged = 0, bytes = bytes - log_bytes, log_bytes = 0 WHERE key = ?", [key])?;
    Ok(())
}

pub(crate) fn purge(s: &Session, what: &Purge) -> Result<Evicted> {
    let owner = what.owner.as_ref().map(crate::Owner::name);
    let since = what.unused_since.unwrap_or(u64::MAX >> 1);
    let chosen = "(?1 IS NULL OR owner = (SELECT key FROM owner WHERE name = ?1)) AND used <= ?2";
    let mut evicted = Evicted::default();
    if what.count_only {
        let count = |rows| s.number(&format!("SELECT COUNT(*) FROM {rows} {chosen}"), params![owner, since]);
        evicted.responses = count("response WHERE deleted = 0 AND")?;
        evicted.conversations = count("conversation WHERE")?;
        return Ok(evicted);
    }
    // Children have larger keys than their parents.
    let sql = format!("SELECT key FROM response WHERE deleted = 0 AND {chosen} ORDER BY key DESC");
    for key in s.all(&sql, params![owner, since], |row| row.get::<_, i64>(0))? {
        let children = s.number("SELECT children FROM response WHERE key = ?", [key])?;
        remove(s, key, children)?;
        evicted.responses += 1;
    }
    evicted.conversations =
        s.run(&format!("DELETE FROM conversation WHERE {chosen}"), params![owner, since])? as u64;
    s.run("DELETE FROM owner WHERE bytes = 0", [])?;
    shrink(s)?;
    Ok(evicted)
}

/// Gives pages back once more than a quarter is free; fewer are soon used again.
fn shrink(s: &Session) -> Result<()> {
    let free = s.number("SELECT freelist_count FROM pragma_freelist_count", [])?;
    let pages = s.number("SELECT page_count FROM pragma_page_count", [])?;
    if free * 4 > pages {
        s.all(&format!("PRAGMA incremental_vacuum({PAGES})"), [], |_| Ok(()))?;
    }
    Ok(())
}

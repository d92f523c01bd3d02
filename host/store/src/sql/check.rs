//! What an operator reads: figures, the check of everything that the tables promise each other,
//! exported records.

use super::database::{Row, params};

use super::evict::RUNNING_LOGS;
use super::row::{CHUNK_ROW, Kind, ResponseRow};
use super::session::Session;
use super::{completions, read};
use crate::bounds::{ITEM_BYTES, ROW_BYTES};
use crate::{ExportedRecord, Owner, Result, Stats, StoredConversation};

pub(crate) fn stats(s: &Session) -> Result<Stats> {
    let count = |sql: &str| s.number(&format!("SELECT COUNT(*) FROM {sql}"), &[]);
    let kept = count("response WHERE deleted = 1")?;
    Ok(Stats {
        // All rows are counted in an index, while a condition would read the table once more.
        responses: count("response")? - kept,
        queued: count("response WHERE ended IS NULL AND status = 0")?,
        running: count("response WHERE ended IS NULL AND status = 1")?,
        running_background: count("response WHERE ended IS NULL AND status = 1 AND background = 1")?,
        kept,
        conversations: count("conversation")?,
        owners: s.all(
            &format!("SELECT name, bytes + {RUNNING_LOGS} FROM owner ORDER BY name"),
            &[],
            |row| Ok((Owner::new(&row.get::<String>(0)?), row.get(1)?)),
        )?,
        file_bytes: s.database.bytes()?,
        evicted: s.evicted(),
    })
}

/// Each query returns what breaks a promise, in words.
const PROMISES: [&str; 10] = [
    "SELECT 'owner ' || name || ': bytes are counted wrongly' FROM owner WHERE bytes != \
     (SELECT COALESCE(SUM(bytes), 0) FROM response WHERE owner = owner.key) + \
     (SELECT COALESCE(SUM(bytes), 0) FROM conversation WHERE owner = owner.key)",
    "SELECT 'response ' || id || ': belongs to no owner' FROM response WHERE owner NOT IN (SELECT key FROM owner)",
    "SELECT 'response ' || id || ': its children are counted wrongly' FROM response AS r WHERE children != \
     (SELECT COUNT(*) FROM response WHERE parent = r.key)",
    "SELECT 'response ' || id || ': its parent is missing' FROM response WHERE parent IS NOT NULL \
     AND parent NOT IN (SELECT key FROM response)",
    "SELECT 'response ' || id || ': status and end contradict each other' FROM response WHERE (ended IS NULL) != (status < 2) \
     OR (ended IS NULL AND children > 0)",
    "SELECT 'response ' || id || ': its event log has a gap' FROM response WHERE logged = 1 AND events != \
     (SELECT COALESCE(SUM(last - first + 1), 0) FROM chunk WHERE response = key)",
    "SELECT 'response ' || id || ': its event log has a gap' FROM response WHERE logged = 1 AND events != \
     (SELECT COALESCE(MAX(last) + 1, 0) FROM chunk WHERE response = key)",
    "SELECT 'conversation ' || id || ': locked by nothing that runs' FROM conversation WHERE running IS NOT NULL \
     AND running NOT IN (SELECT key FROM response WHERE ended IS NULL)",
    "SELECT 'an item or chunk belongs to nothing' WHERE EXISTS (SELECT 1 FROM item WHERE response NOT IN (SELECT key FROM response)) \
     OR EXISTS (SELECT 1 FROM chunk WHERE response NOT IN (SELECT key FROM response WHERE logged = 1 OR (deleted = 1 AND children = 0)) \
     AND response NOT IN (SELECT key FROM garbage WHERE kind = 0)) \
     OR EXISTS (SELECT 1 FROM tag WHERE response NOT IN (SELECT key FROM response WHERE kind = 1)) \
     OR EXISTS (SELECT 1 FROM body WHERE response NOT IN (SELECT key FROM response)) \
     OR EXISTS (SELECT 1 FROM entry WHERE conversation NOT IN (SELECT key FROM conversation) \
     AND conversation NOT IN (SELECT key FROM garbage WHERE kind = 1))",
    "SELECT 'response ' || response.id || ': its metadata has another owner' FROM tag JOIN response ON response.key = tag.response \
     WHERE tag.owner != response.owner",
];

pub(crate) fn check(s: &Session) -> Result<Vec<String>> {
    let text = |row: &Row<'_>| row.get::<String>(0);
    let mut wrong = s.database.damages()?;
    for promise in PROMISES {
        wrong.extend(s.all(promise, &[], text)?);
    }
    let counted = format!(
        "SELECT 'response ' || id || ': bytes are counted wrongly' FROM response AS r WHERE bytes != {ROW_BYTES} + \
         (SELECT LENGTH(request) + LENGTH(result) FROM body WHERE response = r.key) + \
         (SELECT COALESCE(SUM({ITEM_BYTES} + OCTET_LENGTH(id) + LENGTH(body)), 0) FROM item WHERE response = r.key) + \
         (SELECT COALESCE(SUM({ITEM_BYTES} + OCTET_LENGTH(name) + OCTET_LENGTH(value)), 0) FROM tag WHERE response = r.key) + \
         (SELECT COALESCE(SUM({CHUNK_ROW} + LENGTH(body)), 0) FROM chunk WHERE response = r.key AND r.logged = 1 AND r.ended IS NOT NULL) \
         AND NOT (deleted = 1 AND children = 0) \
         UNION ALL \
         SELECT 'conversation ' || id || ': bytes are counted wrongly' FROM conversation AS c WHERE bytes != {ROW_BYTES} + LENGTH(metadata) + \
         (SELECT COALESCE(SUM({ITEM_BYTES} + OCTET_LENGTH(id) + LENGTH(body)), 0) FROM entry WHERE conversation = c.key)"
    );
    wrong.extend(s.all(&counted, &[], text)?);
    Ok(wrong)
}

/// Numbers of conversations begin here, behind those of responses.
const CONVERSATIONS: u64 = 1 << 62;

pub(crate) fn export(
    s: &Session,
    owner: Option<&Owner>,
    after: u64,
) -> Result<Option<(u64, ExportedRecord)>> {
    let owner = owner.map(Owner::name);
    if after < CONVERSATIONS {
        let found = s.first(
            "SELECT response.key, name FROM response JOIN owner ON owner.key = owner WHERE response.key > ?1 AND deleted = 0 AND (kind = 0 OR ended IS NOT NULL) \
             AND (CAST(?2 AS TEXT) IS NULL OR name = ?2) ORDER BY response.key LIMIT 1",
            params![after, owner],
            |row| Ok((row.get::<i64>(0)?, row.get::<String>(1)?)),
        )?;
        if let Some((key, name)) = found {
            let (owner, row, input) =
                (Owner::new(&name), ResponseRow::get(s, key)?, read::own_items(s, key, 0)?);
            let record = if row.kind == Kind::Completion {
                ExportedRecord::Completion(owner, completions::load(s, key)?, input)
            } else {
                ExportedRecord::Response(owner, read::load(s, row)?, input)
            };
            return Ok(Some((key.unsigned_abs(), record)));
        }
    }
    let found = s.first(
        "SELECT conversation.key, name, id, created, metadata FROM conversation JOIN owner ON owner.key = owner \
         WHERE conversation.key > ?1 AND (CAST(?2 AS TEXT) IS NULL OR name = ?2) ORDER BY conversation.key LIMIT 1",
        params![after.saturating_sub(CONVERSATIONS), owner],
        |row| {
            let conversation = StoredConversation { id: row.get(2)?, created: row.get(3)?, metadata: row.get(4)? };
            Ok((row.get::<i64>(0)?, row.get::<String>(1)?, conversation))
        },
    )?;
    let Some((key, name, conversation)) = found else { return Ok(None) };
    let items = read::all_entries(s, key)?;
    let number = CONVERSATIONS + key.unsigned_abs();
    Ok(Some((number, ExportedRecord::Conversation(Owner::new(&name), conversation, items))))
}

//! The hosts that share a store: who is there, and which logs have grown that others write.

use std::collections::HashMap;

use super::database::params;
use super::session::Session;
use crate::bounds::millis;
use crate::{LogPosition, OtherHost, Result};

pub(crate) fn enter(s: &Session, settings: &str) -> Result<Vec<OtherHost>> {
    let host = s.host();
    s.run("DELETE FROM host WHERE seen + ? <= ?", params![millis(s.bounds.lease), s.lease_now()])?;
    s.run(
        "INSERT INTO host (name, settings, seen) VALUES (?1, ?2, ?3) ON CONFLICT (name) DO UPDATE SET settings = ?2, seen = ?3",
        params![&*host, settings, s.lease_now()],
    )?;
    s.all("SELECT name, settings FROM host WHERE name <> ? ORDER BY name", params![&*host], |row| {
        Ok(OtherHost { name: row.get(0)?, settings: row.get(1)? })
    })
}

pub(crate) fn leave(s: &Session) -> Result<()> {
    s.run("DELETE FROM host WHERE name = ?", params![&*s.host()])?;
    Ok(())
}

pub(crate) fn grown(s: &Session, logs: &[LogPosition]) -> Result<Vec<LogPosition>> {
    let responses: Vec<_> = logs.iter().map(|log| log.response.to_string()).collect();
    // Of a response that is deleted and needed by others nothing is read any more.
    let sql = "SELECT response.key, CASE WHEN deleted = 1 OR ended IS NOT NULL THEN -1 ELSE events END \
         FROM json_each(?) AS asked JOIN response ON response.key = asked.value";
    let list = format!("[{}]", responses.join(","));
    let events: HashMap<i64, i64> =
        s.all(sql, params![&*list], |row| Ok((row.get(0)?, row.get(1)?)))?.into_iter().collect();
    let is_unchanged =
        |log: &LogPosition| events.get(&log.response).and_then(|&n| u64::try_from(n).ok()) == Some(log.next);
    Ok(logs.iter().filter(|log| !is_unchanged(log)).copied().collect())
}

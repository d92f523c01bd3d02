//! Background responses and leases: claim, release, renew, sweep. What waits is claimed again if
//! its host was lost; what ran is ended, since its tools may have acted.

use rusqlite::params;

use super::row::{QUEUED, ResponseRow};
use super::session::Session;
use super::{completions, read};
use crate::bounds::SWEPT;
use crate::{Claimed, Lease, Owner, Result, StoreError};

// Both searches name their index: SQLite would rather read the whole table in the order of its
// keys.

pub(crate) fn claim(s: &Session) -> Result<Option<Claimed>> {
    let key = s.first(
        "SELECT key FROM response INDEXED BY response_live WHERE ended IS NULL AND background AND status = 0 AND lease <= ?1 AND tries < ?2 AND owner NOT IN \
         (SELECT owner FROM response INDEXED BY response_live WHERE ended IS NULL AND background AND lease > ?1 GROUP BY owner HAVING COUNT(*) >= ?3) \
         ORDER BY key LIMIT 1",
        params![s.lease_now(), s.bounds.claims, s.bounds.running],
        |row| row.get(0),
    )?;
    key.map(|key| take(s, key)).transpose()
}

/// Gives this host a response, which it may run.
fn take(s: &Session, key: i64) -> Result<Claimed> {
    s.run("UPDATE response SET tries = tries + 1 WHERE key = ?", [key])?;
    let row = ResponseRow::get(s, key)?;
    let owner = s.first("SELECT name FROM owner WHERE key = ?", [row.owner], |r| r.get::<_, String>(0))?;
    let lease = lease(s, &Owner::new(&owner.unwrap_or_default()), &row)?;
    Ok(Claimed { lease, response: read::load(s, row)? })
}

/// Gives this host the lease on a response. Whoever had it has it no more.
fn lease(s: &Session, owner: &Owner, row: &ResponseRow) -> Result<Lease> {
    let epoch = row.epoch + 1;
    s.run(
        "UPDATE response SET host = ?, epoch = ?, lease = ? WHERE key = ?",
        params![&*s.host, epoch, s.lease_end(), row.key],
    )?;
    Ok(Lease { owner: owner.clone(), id: row.id.clone(), host: s.host.clone(), epoch })
}

pub(crate) fn fence(s: &Session, owner: &Owner, id: &str) -> Result<Option<Lease>> {
    let row = ResponseRow::find(s, owner, id)?;
    row.ended.is_none().then(|| lease(s, owner, &row)).transpose()
}

pub(crate) fn release(s: &Session, lease: &Lease) -> Result<()> {
    let row = ResponseRow::leased(s, lease)?;
    if row.status != QUEUED {
        return Err(StoreError::LeaseLost);
    }
    s.run("UPDATE response SET host = NULL, lease = 0, tries = tries - 1 WHERE key = ?", [row.key])?;
    Ok(())
}

pub(crate) fn renew(s: &Session, leases: Vec<Lease>) -> Result<Vec<Lease>> {
    let mut lost = Vec::new();
    for lease in leases {
        let renewed = s.run(
            "UPDATE response SET lease = ? WHERE owner = (SELECT key FROM owner WHERE name = ?) AND id = ? AND host = ? AND epoch = ? \
             AND ended IS NULL",
            params![s.lease_end(), lease.owner.name(), lease.id, &*lease.host, lease.epoch],
        )?;
        if renewed == 0 {
            lost.push(lease);
        }
    }
    Ok(lost)
}

pub(crate) fn sweep(s: &Session) -> Result<Vec<Claimed>> {
    completions::sweep(s)?;
    let keys = s.all(
        "SELECT key FROM response INDEXED BY response_live WHERE ended IS NULL AND lease <= ? AND kind = 0 AND (status = 1 OR tries >= ?) ORDER BY key LIMIT ?",
        params![s.lease_now(), s.bounds.claims, SWEPT],
        |row| row.get(0),
    )?;
    keys.into_iter().map(|key| take(s, key)).collect()
}

//! Background responses and leases: claim, release, renew, sweep. What waits is claimed again if
//! its host was lost; what ran is ended, since its tools may have acted. What needs a model that no
//! host serves is ended, too, after a time.

use super::database::{Others, OwnerLock, Value, params};
use super::row::{QUEUED, ResponseRow};
use super::session::Session;
use super::{evict, read, served};
use crate::bounds::{SWEPT, millis};
use crate::{Claimed, Lease, Orphaned, Owner, Result, Served, StoreError, Swept};

// Both searches name their index: SQLite would rather read the whole table in the order of its
// keys.

pub(crate) fn claim(s: &Session, served: &Served) -> Result<Option<Claimed>> {
    let found = longest_waiting(s, served)?;
    // Behind the owner's lock, as where something is queued, and in one order: so nobody waits in a circle.
    let mut models: Vec<_> = served.models.iter().collect();
    models.sort_unstable();
    for model in models {
        served::note(s, model, served.version)?;
    }
    let Some(key) = found else { return Ok(None) };
    // Meanwhile it may have been fenced, or begun by a host that had stalled: both lock its row alone.
    let is_free =
        "UPDATE response SET tries = tries + 1 WHERE key = ? AND ended IS NULL AND status = 0 AND lease <= ?";
    if s.run(is_free, params![key, s.lease_now()])? == 0 {
        return Ok(None);
    }
    let row = ResponseRow::get(s, key)?;
    let lease = lease(s, &owner_of(s, row.owner)?, &row)?;
    Ok(Some(Claimed { lease, response: read::load(s, row)? }))
}

/// The response that is to be claimed. An owner's are counted under its lock; where that had to be
/// waited for, they are looked for once more.
fn longest_waiting(s: &Session, served: &Served) -> Result<Option<i64>> {
    // Of none, nothing is one.
    let places: Vec<_> = (5..5 + served.models.len()).map(|number| format!("?{number}")).collect();
    let models = if places.is_empty() { "NULL".to_owned() } else { places.join(", ") };
    let sql = format!(
        "SELECT key, owner FROM response INDEXED BY response_live WHERE ended IS NULL AND background = 1 AND status = 0 AND lease <= ?1 AND tries < ?2 \
         AND owner NOT IN \
         (SELECT owner FROM response INDEXED BY response_live WHERE ended IS NULL AND background = 1 AND lease > ?1 GROUP BY owner HAVING COUNT(*) >= ?3) \
         AND version <= ?4 AND (model IS NULL OR model IN ({models})) ORDER BY key LIMIT 1"
    );
    let mut values = params![s.lease_now(), s.bounds.claims, s.bounds.running, served.version].to_vec();
    values.extend(served.models.iter().map(|model| Value::from(&**model)));
    loop {
        let found = s.first(&sql, &values, |row| Ok((row.get(0)?, row.get(1)?)))?;
        let Some((key, owner)) = found else { return Ok(None) };
        match s.database.lock_owner(owner)? {
            OwnerLock::Held => return Ok(Some(key)),
            OwnerLock::Taken => {}
            // Another host has claimed what was found first. The next call looks at the rest.
            OwnerLock::Another => return Ok(None),
        }
    }
}

fn owner_of(s: &Session, key: i64) -> Result<Owner> {
    let name = s.first("SELECT name FROM owner WHERE key = ?", params![key], |row| row.get::<String>(0))?;
    Ok(Owner::new(&name.unwrap_or_default()))
}

/// Gives this host the lease on a response. Whoever had it has it no more.
fn lease(s: &Session, owner: &Owner, row: &ResponseRow) -> Result<Lease> {
    let epoch = row.epoch + 1;
    s.run(
        "UPDATE response SET host = ?, epoch = ?, lease = ? WHERE key = ?",
        params![&*s.host(), epoch, s.lease_end(), row.key],
    )?;
    Ok(Lease { owner: owner.clone(), id: row.id.clone(), host: s.host(), epoch })
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
    s.run(
        "UPDATE response SET host = NULL, lease = 0, tries = MAX(tries - 1, 0) WHERE key = ?",
        params![row.key],
    )?;
    Ok(())
}

pub(crate) fn renew(s: &Session, leases: &[Lease]) -> Result<Vec<Lease>> {
    let mut lost = Vec::new();
    for lease in leases {
        let renewed = s.run(
            "UPDATE response SET lease = ? WHERE owner = (SELECT key FROM owner WHERE name = ?) AND id = ? AND host = ? AND epoch = ? \
             AND ended IS NULL",
            params![s.lease_end(), lease.owner.name(), &*lease.id, &*lease.host, lease.epoch],
        )?;
        if renewed == 0 {
            lost.push(lease.clone());
        }
    }
    Ok(lost)
}

pub(crate) fn sweep(s: &Session) -> Result<Vec<Swept>> {
    evict::erase_lost(s)?;
    let sql = format!(
        "SELECT key, status = 0 AND tries < ?2 FROM response INDEXED BY response_live WHERE ended IS NULL AND lease <= ?1 AND kind = 0 AND (status = 1 OR tries >= ?2 \
         OR (model IS NOT NULL AND NOT EXISTS (SELECT 1 FROM served WHERE served.model = response.model AND served.version >= response.version AND seen + ?4 > ?1))) \
         ORDER BY key LIMIT ?3{}",
        s.database.locking(Others::Skip)
    );
    let orphaned =
        s.all(&sql, params![s.lease_now(), s.bounds.claims, SWEPT, millis(s.bounds.unserved)], |row| {
            Ok((row.get(0)?, if row.get(1)? { Orphaned::Unserved } else { Orphaned::Lost }))
        })?;
    let take = |(key, why)| {
        let row = ResponseRow::get(s, key)?;
        Ok(Swept { lease: lease(s, &owner_of(s, row.owner)?, &row)?, why })
    };
    orphaned.into_iter().map(take).collect()
}

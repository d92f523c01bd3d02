//! What hosts serve: so others know whether a background response waits for somebody.

use super::database::params;

use super::session::Session;
use crate::Result;
use crate::bounds::millis;

/// Notes that a host serves a model now, unless that was noted lately.
pub(crate) fn note(s: &Session, model: &str, version: u64) -> Result<()> {
    let lately = millis(s.bounds.unserved) / 10;
    // Looked at first: rows that are written keep others waiting until the commit.
    let noted = "SELECT COUNT(*) FROM served WHERE model = ? AND version = ? AND seen + ? > ?";
    if s.number(noted, params![model, version, lately, s.lease_now()])? > 0 {
        return Ok(());
    }
    s.run(
        "INSERT INTO served (model, version, seen) VALUES (?1, ?2, ?3) ON CONFLICT (model, version) DO UPDATE SET seen = ?3",
        params![model, version, s.lease_now()],
    )?;
    Ok(())
}

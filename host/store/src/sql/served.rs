//! What hosts serve: so others know whether a background response waits for somebody.

use super::database::params;

use super::session::Session;
use crate::Result;
use crate::bounds::millis;

/// Notes that a host serves a model now, unless that was noted lately.
pub(crate) fn note(s: &Session, model: &str, version: u64) -> Result<()> {
    let lately = millis(s.bounds.unserved) / 10;
    s.run(
        "INSERT INTO served (model, version, seen) VALUES (?1, ?2, ?3) \
         ON CONFLICT (model, version) DO UPDATE SET seen = ?3 WHERE served.seen + ?4 <= ?3",
        params![model, version, s.lease_now(), lately],
    )?;
    Ok(())
}

//! What servers that share a store must have in common, which each tells the others: the keys that seal
//! what clients keep, and the bounds of what is stored.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use api::seal::Seal;
use bounds::Bounded as _;
use serde::{Deserialize, Serialize};
use store::{Bounds, OtherHost, Store};
use tokio::time::Instant;

/// Time between two looks for a server that may have been killed.
const LOOK: Duration = Duration::from_secs(1);

/// A server as the others see it.
#[derive(Serialize, Deserialize)]
struct StoreSettings {
    /// Machine and process.
    server: String,
    /// Ids of the keys: the first one seals, all of them open.
    seals: Vec<String>,
    /// Bounds in the units of their switches.
    bounds: BTreeMap<String, u64>,
}

/// This server among those that share its store.
pub struct Presence {
    settings: StoreSettings,
    /// Servers of which the log has said how they differ.
    told: Mutex<HashSet<String>>,
}

impl Presence {
    /// Tells the others what this server has. Where one of them couldn't open what this one seals, or the
    /// other way round, it may have been killed: that shows within `Bounds::lease`.
    ///
    /// # Errors
    /// It is there after that time, or the store can't be reached: what the operator has to do.
    pub async fn enter(store: &dyn Store, seal: &Seal, bounds: &Bounds) -> Result<Self, String> {
        let presence = Self { settings: StoreSettings::new(seal, bounds), told: Mutex::default() };
        let last = Instant::now() + bounds.lease + LOOK;
        let mut has_waited = false;
        loop {
            let others = presence.renew(store).await?;
            let Some(other) = others.iter().find(|other| !presence.settings.shares_seals(other)) else {
                return Ok(presence);
            };
            if Instant::now() >= last {
                let _ = store.leave().await;
                return Err(unlike(&other.server));
            }
            if !has_waited {
                has_waited = true;
                let (server, seconds) = (&other.server, bounds.lease.as_secs());
                tracing::warn!(%server, seconds, "another server of this store has other keys that seal: waiting whether it is still there");
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Says that this server is still there.
    pub(crate) async fn keep(&self, store: &dyn Store) {
        let Ok(others) = self.renew(store).await else { return };
        for other in others.iter().filter(|other| !self.settings.shares_seals(other)) {
            if self.is_news(&other.server, "seals") {
                tracing::error!("{}", unlike(&other.server));
            }
        }
    }

    async fn renew(&self, store: &dyn Store) -> Result<Vec<StoreSettings>, String> {
        let settings = serde_json::to_string(&self.settings).expect("texts and numbers are JSON");
        let others = store.enter(&settings).await.map_err(|error| error.to_string())?;
        // A later version may say something else.
        let read = |other: &OtherHost| serde_json::from_str::<StoreSettings>(&other.settings).ok();
        let others: Vec<_> = others.iter().filter_map(read).collect();
        for other in &others {
            let differing = self.settings.unlike_bounds(other);
            if !differing.is_empty() && self.is_news(&other.server, "bounds") {
                tracing::warn!(server = %other.server, %differing, "another server of this store has other bounds: each evicts by its own");
            }
        }
        Ok(others)
    }

    fn is_news(&self, server: &str, what: &str) -> bool {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).insert(format!("{server} {what}"))
    }
}

impl StoreSettings {
    fn new(seal: &Seal, bounds: &Bounds) -> Self {
        let mut bounds = bounds.clone();
        Self {
            server: format!("{} (process {})", system::program::machine(), std::process::id()),
            seals: seal.key_ids(),
            bounds: Bounds::BOUNDS.iter().map(|row| (row.switch.to_owned(), row.get(&mut bounds))).collect(),
        }
    }

    /// Whether each opens what the other one seals: so keys can be replaced while servers run.
    fn shares_seals(&self, other: &Self) -> bool {
        let opens =
            |one: &Self, other: &Self| other.seals.first().is_none_or(|seal| one.seals.contains(seal));
        opens(self, other) && opens(other, self)
    }

    /// The bounds that differ, for the log.
    fn unlike_bounds(&self, other: &Self) -> String {
        let unlike = self.bounds.iter().filter_map(|(switch, here)| {
            let there = other.bounds.get(switch).filter(|there| *there != here)?;
            Some(format!("--{switch} {here} here, {there} there"))
        });
        unlike.collect::<Vec<_>>().join("; ")
    }
}

/// Why a server doesn't start beside another one.
fn unlike(server: &str) -> String {
    format!(
        "--seal-key: {server} shares this store and has other keys, so neither opens what the other one seals for clients: give all servers the same file; to replace a key, first add the new one as a further line on all of them"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(seals: &[&str]) -> StoreSettings {
        let seals = seals.iter().map(|&seal| seal.to_owned()).collect();
        StoreSettings { server: "here".to_owned(), seals, bounds: BTreeMap::new() }
    }

    #[test]
    fn a_key_is_replaced_server_by_server() {
        let steps = [&["a"][..], &["a", "b"], &["b", "a"], &["b"]].map(settings);
        for pair in steps.windows(2) {
            assert!(pair[0].shares_seals(&pair[1]) && pair[1].shares_seals(&pair[0]));
        }
        assert!(!steps[0].shares_seals(&steps[2]));
        assert!(!steps[0].shares_seals(&steps[3]));
    }

    #[test]
    fn bounds_that_differ_are_named_by_their_switches() {
        let seal = Seal::random();
        let here = StoreSettings::new(&seal, &Bounds::default());
        let there = StoreSettings::new(&seal, &Bounds { links: 7, ..Bounds::default() });
        assert_eq!(here.unlike_bounds(&there), "--store-chain 1000 here, 7 there");
        assert_eq!(here.unlike_bounds(&here), "");
    }
}

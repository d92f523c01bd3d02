//! How much is stored and for how long. The meaning of each is in `docs/state.md`.

use std::time::Duration;

bounds::limits! {
    /// The bounds of a store.
    Bounds, "Limits of what is stored":

    bytes: u64 = 10 << 30, "store-size", Mib, 1..=1_073_741_824, "Size of everything stored; what wasn't used for longest makes room";
    owner_bytes: u64 = 1 << 30, "store-owner-size", Mib, 1..=1_073_741_824, "Size of what one key has stored";
    memory_bytes: u64 = 256 << 20, "store-memory", Mib, 1..=1_048_576, "Size of everything stored where the store is in memory";
    unused: Duration = Duration::from_hours(30 * 24), "store-days", Days, 1..=36_500, "Time after which responses and conversations that nobody uses are gone";
    log_kept: Duration = Duration::from_hours(1), "store-log-seconds", Seconds, 1..=2_592_000, "Time for which a background response's events are kept after its end";
    log_bytes: u64 = 16 << 20, "store-log", Mib, 1..=1024, "Size of a background response's events, compressed";
    running: u64 = 16, "store-running", Count("RESPONSES"), 1..=1024, "Background responses of one key that run at a time";
    queued: u64 = 256, "store-queued", Count("RESPONSES"), 1..=1_000_000, "Background responses of one key that wait; further ones get 429";
    links: u64 = 1000, "store-chain", Count("RESPONSES"), 1..=1_000_000, "Responses of a chain (`previous_response_id`)";
    context_bytes: u64 = 64 << 20, "store-context", Mib, 1..=1024, "Size of the items of a chain or conversation";
    /// How long a lease lasts.
    lease: Duration = Duration::from_secs(20);
    /// How long a background response waits for a host that serves its model.
    unserved: Duration = Duration::from_mins(10);
    /// How often a response that was claimed and not begun is claimed in all.
    claims: u64 = 3;
}

impl Bounds {
    /// Those of a store in memory.
    #[must_use]
    pub fn in_memory(&self) -> Self {
        Self { bytes: self.memory_bytes.min(self.bytes), ..self.clone() }
    }
}

//! Bounds of what is stored. Their meaning is in `docs/state.md`.

use bounds::Field::{Time, U64};
use bounds::Unit::{Count, Days, Mib, Seconds};
use bounds::{Bound, Bounded, bound};

use crate::Bounds;

/// Bounds of what is stored.
#[derive(Debug, Clone)]
pub struct StoreLimits {
    /// Bounds of a store in a file.
    pub bounds: Bounds,
    /// Bytes of everything in a store in memory.
    pub memory_bytes: u64,
}

impl Default for StoreLimits {
    fn default() -> Self {
        Self { bounds: Bounds::default(), memory_bytes: 256 << 20 }
    }
}

impl StoreLimits {
    /// Bounds of a store in memory.
    pub fn in_memory(&self) -> Bounds {
        Bounds { bytes: self.memory_bytes.min(self.bounds.bytes), ..self.bounds.clone() }
    }
}

impl Bounded for StoreLimits {
    const HEADING: &'static str = "Limits of what is stored";
    #[rustfmt::skip] // A row per bound.
    const BOUNDS: &'static [Bound<Self>] = &[
        bound("store-size", Mib, 1..=1_073_741_824, "Size of everything stored; what wasn't used for longest makes room", |l| U64(&mut l.bounds.bytes)),
        bound("store-owner-size", Mib, 1..=1_073_741_824, "Size of what one key has stored", |l| U64(&mut l.bounds.owner_bytes)),
        bound("store-memory", Mib, 1..=1_048_576, "Size of everything stored where the store is in memory", |l| U64(&mut l.memory_bytes)),
        bound("store-days", Days, 1..=36_500, "Time after which responses and conversations that nobody uses are gone", |l| Time(&mut l.bounds.unused)),
        bound("store-log-seconds", Seconds, 1..=2_592_000, "Time for which a background response's events are kept after its end", |l| Time(&mut l.bounds.log_kept)),
        bound("store-log", Mib, 1..=1024, "Size of a background response's events, compressed", |l| U64(&mut l.bounds.log_bytes)),
        bound("store-running", Count("RESPONSES"), 1..=1024, "Background responses of one key that run at a time", |l| U64(&mut l.bounds.running)),
        bound("store-queued", Count("RESPONSES"), 1..=1_000_000, "Background responses of one key that wait; further ones get 429", |l| U64(&mut l.bounds.queued)),
        bound("store-chain", Count("RESPONSES"), 1..=1_000_000, "Responses of a chain (`previous_response_id`)", |l| U64(&mut l.bounds.links)),
        bound("store-context", Mib, 1..=1024, "Size of the items of a chain or conversation", |l| U64(&mut l.bounds.context_bytes)),
    ];
}

//! Upkeep of the store while the server runs: eviction of what is too old or too much, and the
//! figures of what is stored.
//!
//! The store's threads do the work; this task waits for them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use store::{Evicted, Stats, Store};
use tokio_util::sync::CancellationToken;

/// Time between two rounds: an eviction, and figures.
const FIGURES: Duration = Duration::from_secs(15);
/// Transactions of one eviction from which on the log speaks of it.
const MANY: u32 = 8;
/// Counting rows takes at most one part in so many of the time.
const SHARE: u32 = 100;

system::declare_metrics! {
    gauge BYTES = "sluice_store_bytes", "Bytes of everything stored, as they are counted for its bounds.";
    gauge FILE_BYTES = "sluice_store_file_bytes", "Bytes of the store's file that are in use.";
    gauge ROWS = "sluice_store_rows", "Stored responses and conversations.";
    gauge BACKGROUND = "sluice_background_responses", "Background responses, by state.";
    counter EVICTED = "sluice_store_evicted_total", "What was evicted for its age or for space.";
}

/// Keeps the store until the server stops.
pub(crate) async fn run(store: Arc<dyn Store>, stopping: CancellationToken) {
    stopping.run_until_cancelled(keep(&*store)).await;
}

async fn keep(store: &dyn Store) {
    loop {
        evict(store).await;
        let begun = Instant::now();
        // A store that fails is reported where it is used.
        if let Ok(stats) = store.stats().await {
            show(&stats);
        }
        tokio::time::sleep(jittered(FIGURES.max(begun.elapsed() * SHARE))).await;
    }
}

/// Evicts in transactions between those of requests. An eviction of many says that it goes on.
async fn evict(store: &dyn Store) {
    let (mut all, mut transactions) = (Evicted::default(), 0_u32);
    loop {
        match store.evict().await {
            Ok(evicted) if evicted == Evicted::default() => break,
            Ok(evicted) => all += evicted,
            Err(error) => return tracing::warn!(%error, "nothing is evicted from the store"),
        }
        transactions += 1;
        if transactions == MANY {
            tracing::info!("the store holds more than its bounds allow: the oldest is being evicted");
        }
    }
    if transactions >= MANY {
        let Evicted { responses, conversations, logs } = all;
        tracing::info!(responses, conversations, logs, "the store is within its bounds again");
    }
}

/// A time between 4/5 and 6/5 of this one, so that servers with one store don't all ask at once.
fn jittered(time: Duration) -> Duration {
    time * (80 + u32::try_from(system::random::seed() % 41).expect("it is small")) / 100
}

#[expect(clippy::cast_precision_loss, reason = "gauges are floats")]
fn show(stats: &Stats) {
    let bytes: u64 = stats.owners.iter().map(|(_, bytes)| bytes).sum();
    metrics::gauge!(BYTES.name()).set(bytes as f64);
    metrics::gauge!(FILE_BYTES.name()).set(stats.file_bytes as f64);
    for (what, rows) in [
        ("responses", stats.responses),
        ("deleted_responses", stats.kept),
        ("conversations", stats.conversations),
    ] {
        metrics::gauge!(ROWS.name(), "what" => what).set(rows as f64);
    }
    for (state, rows) in [("queued", stats.queued), ("running", stats.running_background)] {
        metrics::gauge!(BACKGROUND.name(), "state" => state).set(rows as f64);
    }
    let Evicted { responses, conversations, logs } = stats.evicted;
    for (what, count) in [("responses", responses), ("conversations", conversations), ("logs", logs)] {
        metrics::counter!(EVICTED.name(), "what" => what).absolute(count);
    }
}

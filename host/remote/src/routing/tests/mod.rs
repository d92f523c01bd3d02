//! Tests of the router. Each hands in its own time.

mod breaker;
mod engines;
mod random;
mod selection;

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Behind, EngineLease, NoEngine, ReportedLoad, Router, RoutingOptions};

/// Engines `0..count`, all up.
fn router(count: usize) -> Router<usize> {
    with_options(count, RoutingOptions { remembered_keys: 1000, ..RoutingOptions::default() })
}

fn with_options(count: usize, options: RoutingOptions) -> Router<usize> {
    let router = Router::new(options);
    list(&router, 0..count);
    router
}

/// Sets the router's list to `engines`, all up.
fn list(router: &Router<usize>, engines: impl IntoIterator<Item = usize>) {
    let engines: Vec<_> = engines.into_iter().map(|engine| (name(engine), engine)).collect();
    router.set_engines(engines.clone());
    for (name, _) in engines {
        router.set_up(&name, true);
    }
}

fn name(engine: usize) -> Arc<str> {
    format!("http://engine-{engine}:8000").into()
}

fn select(router: &Router<usize>, key: u64, now: Instant) -> EngineLease<usize> {
    router.select(key, |_| true, &[], now).unwrap()
}

fn refusal(router: &Router<usize>, now: Instant) -> NoEngine {
    router.select(0, |_| true, &[], now).err().unwrap()
}

/// Requests in flight on each engine, in the list's order.
fn in_flight(router: &Router<usize>, now: Instant) -> Vec<u32> {
    router.status(now).iter().map(|engine| engine.in_flight).collect()
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn gauges(running: u32, waiting: u32) -> ReportedLoad {
    ReportedLoad { running, waiting, kv_used: None }
}

//! Loom models of the code that synchronises threads by itself: the kernels' pool, the engine's
//! queue of arrivals, a sequence's queue of steps, and the device lock. The product's own files are
//! compiled with loom's types in place of the standard library's. Each model is run in every order
//! of its threads with at most two preemptions; a lost wake-up is a deadlock that loom reports.
//!
//! `cargo run --manifest-path tests/interleavings/Cargo.toml` prints the number of orders of each
//! model.
#![expect(dead_code, reason = "the models use a part of what the files offer")]

mod cpu;
#[path = "../../../host/engine/src/device_lock.rs"]
mod device_lock;
mod engine;
mod error;
mod generation;
#[path = "../../../host/engine/src/inbox.rs"]
mod inbox;
#[path = "../../../host/engine/src/notify.rs"]
mod notify;
#[path = "../../../host/engine/src/outlet.rs"]
mod outlet;
mod queue;
mod sequence;
mod sync;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs a model in every order and prints their number.
fn explore(name: &str, model: impl Fn() + Send + Sync + 'static) {
    let orders = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&orders);
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.max_branches = 10_000;
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        model();
    });
    println!("{name:60}{:>9} orders", orders.load(Ordering::Relaxed));
}

fn main() {
    cpu::explore_all();
    engine::explore_all();
}

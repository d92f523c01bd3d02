//! Clock of the operations of steps: the time of each kind, and the bytes of weights and KV cache that
//! it reads. Used by benchmarks.
//!
//! Invariant: while nothing is measured, an operation costs two checks of a field.

use std::time::Instant;

use crate::models::{OpCosts, OpKind};

/// Bytes that an operation reads.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OpReads {
    pub(super) weights: usize,
    /// Of the KV cache, and of states.
    pub(super) cache: usize,
}

impl OpReads {
    pub(super) fn weights(weights: usize) -> Self {
        Self { weights, cache: 0 }
    }

    pub(super) fn cache(cache: usize) -> Self {
        Self { weights: 0, cache }
    }
}

/// Costs of operations since the measurement began; none if nothing is measured.
#[derive(Debug, Default)]
pub(super) struct OpClock(Option<Box<OpCosts>>);

impl OpClock {
    /// Starts to measure.
    pub(super) fn start(&mut self) {
        self.0 = Some(Box::default());
    }

    /// Ends the measurement, and returns the costs.
    pub(super) fn stop(&mut self) -> OpCosts {
        self.0.take().map(|costs| *costs).unwrap_or_default()
    }

    /// The beginning of an operation, if it is measured.
    pub(super) fn begin(&self) -> Option<Instant> {
        self.0.as_ref().map(|_| Instant::now())
    }

    /// The end of an operation that reads activations only.
    pub(super) fn end(&mut self, op: OpKind, begun: Option<Instant>) {
        self.end_reading(op, begun, OpReads::default);
    }

    /// The end of an operation that reads what `reads` says.
    pub(super) fn end_reading(
        &mut self,
        op: OpKind,
        begun: Option<Instant>,
        reads: impl FnOnce() -> OpReads,
    ) {
        let (Some(costs), Some(begun)) = (&mut self.0, begun) else { return };
        let (took, OpReads { weights, cache }) = (begun.elapsed(), reads());
        let cost = costs.of_mut(op);
        cost.time += took;
        cost.calls += 1;
        cost.weight_bytes += weights as u64;
        cost.cache_bytes += cache as u64;
    }
}

//! Random numbers that depend on their purpose alone, so that every policy meets the same workload.

use seeded::SplitMix64;

/// Uniform number in [0, 1), a hash of its purpose and two numbers that identify its use.
pub(super) fn uniform(purpose: u64, a: u64, b: u64) -> f64 {
    seeded::unit(mix(mix(mix(purpose) ^ a) ^ b))
}

/// Exponentially distributed number with this mean.
pub(super) fn exponential(mean: f64, purpose: u64, a: u64, b: u64) -> f64 {
    -mean * (1.0 - uniform(purpose, a, b)).ln()
}

/// Hash of a number.
pub(super) fn mix(value: u64) -> u64 {
    SplitMix64::new(value).draw()
}

//! Random numbers that depend on their purpose alone, so that every policy meets the same workload.

/// Uniform number in [0, 1), a hash of its purpose and two numbers that identify its use.
pub(super) fn uniform(purpose: u64, a: u64, b: u64) -> f64 {
    // The upper 53 bits, which an f64 holds exactly.
    #[expect(clippy::cast_precision_loss, reason = "53 bits")]
    let bits = (mix(mix(mix(purpose) ^ a) ^ b) >> 11) as f64;
    bits / f64::from(1 << 30) / f64::from(1 << 23)
}

/// Exponentially distributed number with this mean.
pub(super) fn exponential(mean: f64, purpose: u64, a: u64, b: u64) -> f64 {
    -mean * (1.0 - uniform(purpose, a, b)).ln()
}

/// Finalizer of `SplitMix64`.
pub(super) fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

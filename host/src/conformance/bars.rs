//! What a parser is measured by.

/// Characters of a delta.
pub(super) const DELTA: usize = 4;
/// Deltas that may pass without output.
pub(super) const SILENCE: usize = 16;
/// Lengths of a growing stream, in deltas.
pub(super) const SIZES: [usize; 5] = [256, 1 << 10, 4 << 10, 16 << 10, 64 << 10];
/// A delta of the longest may cost so many times what one of the shortest costs.
pub(super) const GROWTH: f64 = 1.1;

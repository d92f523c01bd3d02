//! Thresholds and sizes for the measurements of a parser.

/// Number of characters in a delta.
pub(super) const DELTA_CHARACTERS: usize = 4;
/// Most deltas in a row without output.
pub(super) const MAX_SILENT_DELTAS: usize = 16;
/// Lengths at which a growing stream is measured, in deltas.
pub(super) const SIZES: [usize; 5] = [256, 1 << 10, 4 << 10, 16 << 10, 64 << 10];
/// Most that a delta may cost at the longest of [`SIZES`], as a multiple of its cost at the
/// shortest.
pub(super) const GROWTH: f64 = 1.1;

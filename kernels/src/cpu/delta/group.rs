//! What a slot holds: for each key head a group, which is one piece of memory that one task owns: the
//! last inputs of the convolution `[taps - 1, channels]`, then for each of its value heads a matrix
//! `[key_dim, value_dim]`. Widths are padded to whole vectors, and the padding is zero.

use ops::DeltaShape;

use crate::cpu::lanes::LANES;

/// Sizes of what belongs to one key head.
#[derive(Debug, Clone, Copy)]
pub(super) struct GroupShape {
    /// Padded width of a key, and of a value: the stride of a matrix.
    pub(super) key: usize,
    pub(super) value: usize,
    /// Padded channels of the convolution: a query, a key, and the values.
    pub(super) channels: usize,
    /// Number of value heads.
    pub(super) heads: usize,
    /// Size of the convolution's last inputs.
    pub(super) window: usize,
    /// Size of a matrix.
    pub(super) matrix: usize,
}

impl GroupShape {
    pub(super) fn of(shape: DeltaShape) -> Self {
        let (key, value) = (shape.key_dim.next_multiple_of(LANES), shape.value_dim.next_multiple_of(LANES));
        let heads = shape.group();
        let channels = 2 * key + heads * value;
        let (window, matrix) = ((shape.taps - 1) * channels, shape.key_dim * value);
        Self { key, value, channels, heads, window, matrix }
    }

    /// Size of a group.
    pub(super) fn len(self) -> usize {
        self.window + self.heads * self.matrix
    }

    /// Size of a row of input: channels, then update rates and decays.
    pub(super) fn row(self) -> usize {
        self.channels + 2 * self.heads
    }
}

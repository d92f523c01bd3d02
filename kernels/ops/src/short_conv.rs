//! Short gated convolution (LFM2): a layer that keeps its last inputs instead of keys and values.

/// Sizes of a layer. A row of its projection has for each channel a gate of the input (`b`), all of
/// these first, then a gate of the result (`c`), then the input (`x`); the result is
/// `c * convolution of (b * x)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShortConvShape {
    /// Number of channels, each convolved by itself.
    pub channels: usize,
    /// Number of tokens that the convolution sees, at least two.
    pub taps: usize,
}

/// Weights of a layer, apart from its projections.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShortConvWeights<V> {
    /// `[channels, taps]`: factors of the convolution, the oldest token's first.
    pub factors: V,
    /// `[channels]`: added to the convolution.
    pub bias: Option<V>,
}

impl ShortConvShape {
    /// Number of values in a row of the projection.
    pub const fn projected_width(self) -> usize {
        3 * self.channels
    }
}

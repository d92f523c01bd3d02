//! The gated delta rule: a layer that keeps a matrix for each head instead of keys and values.

use crate::Norm;

/// Added to the sum of squares of queries and keys before they are divided by its root.
pub const DELTA_L2_EPS: f32 = 1e-6;

/// Sizes of a layer with the gated delta rule (Yang et al. 2024, arXiv:2412.06464), and how its
/// projections lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeltaShape {
    /// Query heads, and key heads.
    pub key_heads: usize,
    /// Value heads, a multiple of `key_heads`, each with a state.
    pub value_heads: usize,
    /// Width of a query and of a key.
    pub key_dim: usize,
    /// Width of a value.
    pub value_dim: usize,
    /// Number of tokens that the convolution sees, at least two.
    pub taps: usize,
    /// Order of the projections' results.
    pub layout: DeltaLayout,
    /// Which value heads share a key head.
    pub pairing: HeadPairing,
}

/// Order of the results of a layer's projections in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeltaLayout {
    /// All queries, all keys, all values, all output gates; all update rates, all decays.
    Whole,
    /// For each key head its query, its key, its values and their output gates; its update rates
    /// and its decays.
    ByKeyHead,
}

/// Which value heads share a key head, of `n` key heads with `m` value heads each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadPairing {
    /// Value head `v` has key head `v / m`.
    Neighbours,
    /// Value head `v` has key head `v % n`.
    Strided,
}

/// Weights of a layer with the gated delta rule, apart from its projections.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeltaWeights<V> {
    /// `[channels, taps]`: factors of the convolution, the oldest token's first. Channels are those
    /// of all queries, keys and values, in this order.
    pub conv: V,
    /// `[value_heads]`: rates of decay, above zero.
    pub decay: V,
    /// `[value_heads]`: added to decays before softplus.
    pub decay_bias: V,
    /// `[value_dim]`: norm of each head's result.
    pub norm: Norm<V>,
}

/// Where a head's values begin in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeltaOffsets {
    /// In a row of the wide projection: the value.
    pub value: usize,
    /// There: the output gate.
    pub gate: usize,
    /// In a row of the narrow projection: the update rate.
    pub rate: usize,
    /// There: the decay.
    pub decay: usize,
}

impl DeltaShape {
    /// Number of value heads that share a key head.
    pub const fn group(self) -> usize {
        self.value_heads / self.key_heads
    }

    /// Number of channels of the convolution.
    pub const fn channels(self) -> usize {
        2 * self.key_heads * self.key_dim + self.out_width()
    }

    /// Number of values in a row of the wide projection: queries, keys, values and output gates.
    pub const fn projected_width(self) -> usize {
        self.channels() + self.out_width()
    }

    /// Number of values in a row of the narrow projection: update rates and decays.
    pub const fn rates_width(self) -> usize {
        2 * self.value_heads
    }

    /// Number of values in a row of the result.
    pub const fn out_width(self) -> usize {
        self.value_heads * self.value_dim
    }

    /// Value head `member` of the group of a key head.
    pub const fn value_head(self, key_head: usize, member: usize) -> usize {
        match self.pairing {
            HeadPairing::Neighbours => key_head * self.group() + member,
            HeadPairing::Strided => member * self.key_heads + key_head,
        }
    }

    /// Where the query and the key of a key head begin in a row of the wide projection.
    pub const fn query_key(self, key_head: usize) -> (usize, usize) {
        let of_group = 2 * (self.key_dim + self.group() * self.value_dim);
        match self.layout {
            DeltaLayout::Whole => (key_head * self.key_dim, (self.key_heads + key_head) * self.key_dim),
            DeltaLayout::ByKeyHead => (key_head * of_group, key_head * of_group + self.key_dim),
        }
    }

    /// Where what belongs to a member of a key head's group begins.
    pub const fn offsets(self, key_head: usize, member: usize) -> DeltaOffsets {
        let (head, group) = (self.value_head(key_head, member), self.group());
        match self.layout {
            DeltaLayout::Whole => {
                let value = 2 * self.key_heads * self.key_dim + head * self.value_dim;
                let gate = self.channels() + head * self.value_dim;
                DeltaOffsets { value, gate, rate: head, decay: self.value_heads + head }
            }
            DeltaLayout::ByKeyHead => {
                let values = self.query_key(key_head).1 + self.key_dim;
                DeltaOffsets {
                    value: values + member * self.value_dim,
                    gate: values + (group + member) * self.value_dim,
                    rate: 2 * key_head * group + member,
                    decay: (2 * key_head + 1) * group + member,
                }
            }
        }
    }

    /// Channels of the convolution at which the query, the key, and the value of a member of the
    /// group begin.
    pub const fn conv_channels(self, key_head: usize, member: usize) -> [usize; 3] {
        let keys = self.key_heads * self.key_dim;
        let value = 2 * keys + self.value_head(key_head, member) * self.value_dim;
        [key_head * self.key_dim, keys + key_head * self.key_dim, value]
    }
}

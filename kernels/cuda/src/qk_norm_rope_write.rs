//! Preparation of qkv rows for attention: norms of heads, rotary embedding, keys and values written
//! to the KV cache.

use ops::{HeadNorms, QkvShape, QueryScaling};

use crate::check::{self, THREADS};
use crate::{Args, Defines, DevicePtr, KernelId, KernelSource, Launch, Variant, size};

static SOURCE: KernelSource =
    KernelSource { name: "qk_norm_rope_write.cu", text: include_str!("../qk_norm_rope_write.cu") };

/// Norms and rotates the query heads in `qkv` in place; norms and rotates the key heads, and writes
/// keys and values to the rows' slots. Keys and values in `qkv` itself stay as they were.
#[derive(Debug, Clone, Copy)]
pub struct QkNormRopeWrite {
    /// `[rows, shape.width()]` bf16.
    pub qkv: DevicePtr,
    /// Norms of query and key heads, f32, and none of values; `None` for models without them.
    pub norms: Option<HeadNorms<DevicePtr>>,
    /// `[pairs]` f32: radians per position.
    pub frequencies: DevicePtr,
    /// Number of rotated pairs of a head's dimensions ([`Self::supports`]): of the first
    /// `2 * pairs`, `i` is rotated with `i + pairs`.
    pub pairs: u32,
    /// Factor of the cosines and sines.
    pub rope_factor: f32,
    /// Scaling of queries by their position.
    pub query_scaling: Option<QueryScaling>,
    /// `[rows]` u32, below 2²¹.
    pub positions: DevicePtr,
    /// `[rows]` u32: `64 * block + place in the block`.
    pub slots: DevicePtr,
    /// The layer's keys `[blocks, kv_heads, 64, head_dim]` bf16, chunks swizzled ([`kv_index`]).
    pub keys: DevicePtr,
    /// The layer's values, in the layout of `keys`.
    pub values: DevicePtr,
    /// Tokens.
    pub rows: u32,
    /// Heads, whose width is a multiple of 16 up to 512, or even and at most 64.
    pub shape: QkvShape,
}

impl QkNormRopeWrite {
    /// # Panics
    /// Where there is nothing to do, a pointer is null or not a multiple of 16, heads have a width
    /// that isn't supported, or a number of rotated pairs.
    pub fn launch(&self) -> Launch {
        let pointers = [self.qkv, self.frequencies, self.positions, self.slots, self.keys, self.values];
        let QkvShape { heads, kv_heads, head_dim } = self.shape;
        check::shape("qk_norm_rope_write", self.rows, size(heads * kv_heads), &pointers);
        let wide = [self.qkv, self.frequencies, self.keys, self.values];
        let norms = self.norms.map_or([self.qkv; 2], |norms| [norms.q, norms.k]);
        assert!(
            wide.iter().chain(&norms).all(|p| p.is_wide()),
            "qk_norm_rope_write: a pointer is misaligned"
        );
        assert!(self.norms.is_none_or(|norms| !norms.values), "qk_norm_rope_write: norms of values");
        assert!(
            Self::supports(head_dim, 2 * self.pairs as usize),
            "qk_norm_rope_write: {} pairs",
            self.pairs
        );
        let head_dim = size(head_dim);
        let variant = Self::variant(head_dim);
        let threads =
            u64::from(self.rows) * u64::from(size(heads + 2 * kv_heads)) * u64::from(Self::lanes(head_dim));
        let blocks = u32::try_from(threads.div_ceil(THREADS.into())).expect("threads of a grid");
        Launch {
            kernel: KernelId {
                source: variant.source,
                defines: variant.defines,
                entry: "qk_norm_rope_write",
            },
            grid: [blocks, 1, 1],
            block: [THREADS, 1, 1],
            shared_bytes: 0,
            args: self.args(),
            overlaps: true,
        }
    }

    fn args(&self) -> Args {
        Args::new()
            .ptr(self.qkv)
            .optional(self.norms.map(|norms| norms.q))
            .optional(self.norms.map(|norms| norms.k))
            .ptr(self.frequencies)
            .ptr(self.positions)
            .ptr(self.slots)
            .ptr(self.keys)
            .ptr(self.values)
            .u32(self.rows)
            .u32(size(self.shape.heads))
            .u32(size(self.shape.kv_heads))
            .f32(self.norms.map_or(0.0, |norms| norms.eps))
            .f32(self.rope_factor)
            .u32(self.pairs)
            .f32(self.query_scaling.map_or(0.0, |scaling| scaling.beta))
            .u32(self.query_scaling.map_or(0, |scaling| scaling.original))
    }

    /// Whether the first `rotated` dimensions of heads of this width can be rotated.
    pub fn supports(head_dim: usize, rotated: usize) -> bool {
        let part = 2 * Self::width(size(head_dim)) as usize;
        rotated <= head_dim && rotated.is_multiple_of(part)
    }

    /// Elements that a lane holds of each half of a head.
    fn width(head_dim: u32) -> u32 {
        if head_dim.is_multiple_of(16) { 8 } else { 1 }
    }

    /// Number of lanes that share a head.
    fn lanes(head_dim: u32) -> u32 {
        (head_dim / 2 / Self::width(head_dim)).next_power_of_two()
    }

    fn variant(head_dim: u32) -> Variant {
        let supported = head_dim > 0 && head_dim.is_multiple_of(2) && Self::lanes(head_dim) <= 32;
        assert!(supported, "qk_norm_rope_write: heads of {head_dim}");
        let width = Self::width(head_dim);
        Variant { source: &SOURCE, defines: Defines::new(&[("HEAD_DIM", head_dim), ("WIDTH", width)]) }
    }

    pub(crate) fn variants() -> Vec<Variant> {
        [12, 16, 32, 64, 80, 96, 128, 256].map(Self::variant).to_vec()
    }
}

/// Index of element `dim` of a head in a layer's keys or values, for the token in `slot`.
pub fn kv_index(slot: usize, head: usize, dim: usize, kv_heads: usize, head_dim: usize) -> usize {
    let mask = [(64, 7), (32, 3), (16, 1)].iter().find(|(width, _)| head_dim.is_multiple_of(*width));
    let chunk = (slot & mask.map_or(0, |(_, mask)| *mask)) * 8;
    ((slot / 64 * kv_heads + head) * 64 + slot % 64) * head_dim + (dim ^ chunk)
}

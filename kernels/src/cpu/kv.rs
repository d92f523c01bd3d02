//! The paged cache of keys and values: f32, in blocks of sixteen tokens.
//!
//! A layer holds `[blocks, kv_heads, 16, stride]`, so that one head's keys of one block lie together; `stride` is `head_dim`
//! rounded up to whole vectors, the rest being zero. Token `slot % 16` of block `slot / 16` is slot `slot`. Where values are
//! the beginnings of keys (a compressed cache), there are keys only.

use super::lanes::LANES;

/// Tokens of a block.
pub const BLOCK_SIZE: usize = 16;

/// Sizes of a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KvShape {
    /// Layers of the model.
    pub layers: usize,
    /// Blocks.
    pub blocks: usize,
    /// Heads of keys and values.
    pub kv_heads: usize,
    /// Width of a head.
    pub head_dim: usize,
    /// A value is the beginning of its key.
    pub latent: bool,
}

impl KvShape {
    /// Bytes that one block takes in all layers, keys and values; `None` where that overflows.
    pub fn block_bytes(&self) -> Option<usize> {
        let arrays = if self.latent { 1 } else { 2 };
        self.array_bytes()?.checked_mul(arrays)?.checked_mul(self.layers)
    }

    /// Bytes of one block's keys in one layer.
    fn array_bytes(&self) -> Option<usize> {
        self.stride().checked_mul(BLOCK_SIZE * size_of::<f32>())?.checked_mul(self.kv_heads)
    }

    /// Values from one row of a head to the next: `head_dim`, padded to whole vectors.
    pub(super) fn stride(&self) -> usize {
        self.head_dim.next_multiple_of(LANES)
    }

    /// Where one head's rows of a block begin in a layer.
    pub(super) fn block_at(&self, block: usize, head: usize) -> usize {
        (block * self.kv_heads + head) * BLOCK_SIZE * self.stride()
    }

    /// Where one head's row of a slot begins in a layer.
    pub(super) fn row_at(&self, slot: usize, head: usize) -> usize {
        self.block_at(slot / BLOCK_SIZE, head) + slot % BLOCK_SIZE * self.stride()
    }
}

/// Keys and values of all layers.
#[derive(Debug)]
pub struct KvCache {
    shape: KvShape,
    layers: Vec<KvLayer>,
}

/// Keys and values of one layer.
#[derive(Debug)]
pub struct KvLayer {
    pub(super) shape: KvShape,
    pub(super) keys: Vec<f32>,
    /// Empty where values are the beginnings of keys.
    pub(super) values: Vec<f32>,
}

impl KvLayer {
    /// The rows that values are in.
    pub(super) fn value_rows(&self) -> &[f32] {
        if self.shape.latent { &self.keys } else { &self.values }
    }
}

impl KvCache {
    /// A cache of zeros (pages that are never written take no memory); `None` where the system doesn't grant it.
    pub fn new(shape: KvShape) -> Option<Self> {
        let len = shape.array_bytes()?.checked_mul(shape.blocks)? / size_of::<f32>();
        let zeros = |len| bytemuck::allocation::try_zeroed_vec(len).ok();
        let values = if shape.latent { 0 } else { len };
        let layer = |_| Some(KvLayer { shape, keys: zeros(len)?, values: zeros(values)? });
        Some(Self { shape, layers: (0..shape.layers).map(layer).collect::<Option<_>>()? })
    }

    /// Its sizes.
    pub fn shape(&self) -> KvShape {
        self.shape
    }

    /// One layer's part.
    pub fn layer(&self, layer: usize) -> &KvLayer {
        &self.layers[layer]
    }

    /// One layer's part, to write to.
    pub fn layer_mut(&mut self, layer: usize) -> &mut KvLayer {
        &mut self.layers[layer]
    }
}

//! Paged KV cache: keys and values in f16 or f32, in blocks of sixteen tokens.
//!
//! A layer holds `[blocks, kv_heads, 16, stride]`, so that one head's keys of one block lie
//! together; `stride` is `head_dim` rounded up to whole vectors, and the padding is zero. Slot
//! `slot` is token `slot % 16` of block `slot / 16`. A compressed cache, whose values are the
//! beginnings of its keys, has keys only.

use half::f16;

use super::lanes::{LANES, Lanes};
use super::output::Output;

/// Number of tokens in a block.
pub const BLOCK_SIZE: usize = 16;

/// Element type of keys and values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KvDtype {
    /// IEEE half floats. Values beyond their range become the largest one.
    #[default]
    F16,
    /// 32-bit floats, as keys and values are computed.
    F32,
}

impl KvDtype {
    fn size(self) -> usize {
        match self {
            Self::F16 => size_of::<f16>(),
            Self::F32 => size_of::<f32>(),
        }
    }
}

/// Sizes of a layer's cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KvShape {
    /// Number of blocks, the same in all layers.
    pub blocks: usize,
    /// Number of key heads, and of value heads.
    pub kv_heads: usize,
    /// Width of a head.
    pub head_dim: usize,
    /// Whether a value is the beginning of its key (a compressed cache).
    pub latent: bool,
    /// Element type.
    pub dtype: KvDtype,
}

impl KvShape {
    /// Size of one block, keys and values, in bytes; `None` if it overflows.
    pub fn block_bytes(&self) -> Option<usize> {
        let arrays = if self.latent { 1 } else { 2 };
        self.array_bytes()?.checked_mul(arrays)
    }

    /// Size of one block's keys, in bytes.
    fn array_bytes(&self) -> Option<usize> {
        self.stride().checked_mul(BLOCK_SIZE * self.dtype.size())?.checked_mul(self.kv_heads)
    }

    /// Stride of a head's rows in elements: `head_dim`, padded to whole vectors.
    pub(super) fn stride(&self) -> usize {
        self.head_dim.next_multiple_of(LANES)
    }

    /// Index in a layer at which one head's rows of a block begin.
    pub(super) fn block_at(&self, block: usize, head: usize) -> usize {
        (block * self.kv_heads + head) * BLOCK_SIZE * self.stride()
    }

    /// Index in a layer at which one head's row of a slot begins.
    pub(super) fn row_at(&self, slot: usize, head: usize) -> usize {
        self.block_at(slot / BLOCK_SIZE, head) + slot % BLOCK_SIZE * self.stride()
    }
}

/// Keys and values of all layers.
#[derive(Debug)]
pub struct KvCache {
    layers: Vec<KvLayer>,
}

/// Keys and values of one layer.
#[derive(Debug)]
pub struct KvLayer {
    pub(super) shape: KvShape,
    pub(super) keys: KvData,
    /// Empty if values are the beginnings of keys.
    pub(super) values: KvData,
}

/// Rows of keys or values.
#[derive(Debug)]
pub(super) enum KvData {
    F16(Vec<f16>),
    F32(Vec<f32>),
}

/// Rows of keys or values that several threads write, each its own.
pub(super) enum KvOutput<'a> {
    F16(Output<'a, f16>),
    F32(Output<'a, f32>),
}

impl KvData {
    fn zeros(dtype: KvDtype, len: usize) -> Option<Self> {
        use bytemuck::allocation::try_zeroed_vec;
        Some(match dtype {
            KvDtype::F16 => Self::F16(try_zeroed_vec(len).ok()?),
            KvDtype::F32 => Self::F32(try_zeroed_vec(len).ok()?),
        })
    }

    pub(super) fn output(&mut self) -> KvOutput<'_> {
        match self {
            Self::F16(all) => KvOutput::F16(Output::new(all)),
            Self::F32(all) => KvOutput::F32(Output::new(all)),
        }
    }

    #[cfg(test)]
    pub(super) fn to_f32(&self, range: std::ops::Range<usize>) -> Vec<f32> {
        match self {
            Self::F16(all) => all[range].iter().map(|x| x.to_f32()).collect(),
            Self::F32(all) => all[range].to_vec(),
        }
    }

    #[cfg(test)]
    pub(super) fn fill(&mut self, range: std::ops::Range<usize>, with: f32) {
        match self {
            Self::F16(all) => all[range].fill(f16::from_f32(with)),
            Self::F32(all) => all[range].fill(with),
        }
    }
}

impl KvOutput<'_> {
    /// Writes `row` from element `at` on. NaN stays NaN.
    ///
    /// # Safety
    /// No two calls write the same elements at the same time.
    #[inline(always)]
    #[expect(unsafe_code, reason = "rows of threads")]
    pub(super) unsafe fn write<L: Lanes>(&self, lanes: L, at: usize, row: &[f32]) {
        match self {
            // SAFETY: by this function's contract.
            Self::F32(all) => unsafe { all.part(at, row.len()) }.copy_from_slice(row),
            // SAFETY: as above.
            Self::F16(all) => narrow(lanes, row, unsafe { all.part(at, row.len()) }),
        }
    }
}

#[inline(always)]
fn narrow<L: Lanes>(lanes: L, row: &[f32], to: &mut [f16]) {
    let (chunks, rest) = row.as_chunks::<LANES>();
    let (outs, out_rest) = to.as_chunks_mut::<LANES>();
    for (x, out) in chunks.iter().zip(outs) {
        lanes.store_f16(lanes.load(x), out);
    }
    lanes.store_part_f16(lanes.load_part(rest), out_rest);
}

impl KvLayer {
    /// Sizes.
    pub fn shape(&self) -> KvShape {
        self.shape
    }

    /// Rows that hold the values: in a compressed cache, those of the keys.
    pub(super) fn value_rows(&self) -> &KvData {
        if self.shape.latent { &self.keys } else { &self.values }
    }
}

impl KvCache {
    /// Allocates a cache of zeros (pages that are never written take no memory); `None` if the
    /// system doesn't grant the memory.
    pub fn new(layers: &[KvShape]) -> Option<Self> {
        let layer = |shape: &KvShape| {
            let len = shape.array_bytes()?.checked_mul(shape.blocks)? / shape.dtype.size();
            let zeros = |len| KvData::zeros(shape.dtype, len);
            let values = if shape.latent { 0 } else { len };
            Some(KvLayer { shape: *shape, keys: zeros(len)?, values: zeros(values)? })
        };
        Some(Self { layers: layers.iter().map(layer).collect::<Option<_>>()? })
    }

    /// Number of blocks, the same in all layers.
    pub fn blocks(&self) -> usize {
        self.layers.iter().map(|layer| layer.shape.blocks).min().unwrap_or(0)
    }

    /// Keys and values of layer `layer`.
    pub fn layer(&self, layer: usize) -> &KvLayer {
        &self.layers[layer]
    }

    /// Keys and values of layer `layer`, for writing.
    pub fn layer_mut(&mut self, layer: usize) -> &mut KvLayer {
        &mut self.layers[layer]
    }
}

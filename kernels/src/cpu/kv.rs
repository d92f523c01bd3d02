//! The paged cache of keys and values: f16 or f32, in blocks of sixteen tokens.
//!
//! A layer holds `[blocks, kv_heads, 16, stride]`, so that one head's keys of one block lie together; `stride` is `head_dim`
//! rounded up to whole vectors, the rest being zero. Token `slot % 16` of block `slot / 16` is slot `slot`. Where values are
//! the beginnings of keys (a compressed cache), there are keys only.

use half::f16;

use super::lanes::{LANES, Lanes};
use super::output::Output;

/// Tokens of a block.
pub const BLOCK_SIZE: usize = 16;

/// What keys and values are kept in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KvDtype {
    /// IEEE half floats. Larger values become the largest.
    #[default]
    F16,
    /// As they are computed.
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
    /// What they are kept in.
    pub dtype: KvDtype,
}

impl KvShape {
    /// Bytes that one block takes in all layers, keys and values; `None` where that overflows.
    pub fn block_bytes(&self) -> Option<usize> {
        let arrays = if self.latent { 1 } else { 2 };
        self.array_bytes()?.checked_mul(arrays)?.checked_mul(self.layers)
    }

    /// Bytes of one block's keys in one layer.
    fn array_bytes(&self) -> Option<usize> {
        self.stride().checked_mul(BLOCK_SIZE * self.dtype.size())?.checked_mul(self.kv_heads)
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
    pub(super) keys: KvData,
    /// Empty where values are the beginnings of keys.
    pub(super) values: KvData,
}

/// Rows of keys or values.
#[derive(Debug)]
pub(super) enum KvData {
    F16(Vec<f16>),
    F32(Vec<f32>),
}

/// The same, to be written by several threads, each its own rows.
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
    /// Writes a row that begins at element `at`. What isn't a number stays so.
    ///
    /// # Safety
    /// No two calls at a time write the same elements.
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
    /// The rows that values are in.
    pub(super) fn value_rows(&self) -> &KvData {
        if self.shape.latent { &self.keys } else { &self.values }
    }
}

impl KvCache {
    /// A cache of zeros (pages that are never written take no memory); `None` where the system doesn't grant it.
    pub fn new(shape: KvShape) -> Option<Self> {
        let len = shape.array_bytes()?.checked_mul(shape.blocks)? / shape.dtype.size();
        let zeros = |len| KvData::zeros(shape.dtype, len);
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

//! One tensor of a model's weights: plain numbers, or codes.

use std::ops::Range;

use half::{bf16, f16};
use kernels::ggml::BlockType;
use safetensors::tensor::Dtype as StoredDtype;

use super::random_bytes::RandomValues;
use crate::file_bytes::FileBytes;

/// Element types that weights come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dtype {
    /// 32-bit floats.
    F32,
    /// Upper halves of 32-bit floats.
    Bf16,
    /// IEEE half floats.
    F16,
}

impl Dtype {
    /// Bytes of an element.
    pub fn size(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::Bf16 | Self::F16 => 2,
        }
    }
}

/// Format of codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeKind {
    /// FP8 with four bits of exponent.
    E4m3,
    /// Two FP4 codes of four bits in a byte; every code is a number.
    E2m1Pairs,
    /// Exponents of two, plus 127, of scales for values up to 6.
    E8m0,
}

impl CodeKind {
    /// Element type that files give the codes.
    pub(super) fn stored_as(self) -> StoredDtype {
        match self {
            Self::E4m3 => StoredDtype::F8_E4M3,
            Self::E2m1Pairs | Self::E8m0 => StoredDtype::U8,
        }
    }
}

/// One tensor. Its bytes (little endian, row after row) lie in a file or in memory; `E` says what
/// they are.
#[derive(Debug, Clone)]
pub struct StoredTensor<E> {
    /// Type of the elements.
    pub dtype: E,
    /// Shape; its product times an element's size, or over a block's length times its size, is the
    /// length of `bytes()`.
    pub shape: Vec<usize>,
    pub(super) file: FileBytes,
    pub(super) range: Range<usize>,
}

/// Tensor of plain numbers.
pub type WeightTensor = StoredTensor<Dtype>;

/// Tensor of bytes that mean numbers only together with scales: codes of eight bits or less, or
/// exponents.
pub type Codes = StoredTensor<CodeKind>;

/// Tensor of blocks of a GGUF file: the last dimension is whole blocks, whose values are finite.
pub type BlockTensor = StoredTensor<BlockDtype>;

/// Type of a tensor in blocks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockDtype {
    /// Type of the blocks.
    pub kind: BlockType,
    /// Factor of all values, which isn't in the blocks; `None` for types without.
    pub factor: Option<f32>,
}

impl<E: Copy> StoredTensor<E> {
    /// Bytes of all elements. Random ones are generated at the first call.
    pub fn bytes(&self) -> &[u8] {
        &self.file[self.range.clone()]
    }

    /// Number of bytes. Random ones aren't generated for it.
    pub(super) fn len(&self) -> usize {
        self.range.len()
    }

    /// How random bytes are generated; `None` for bytes in a file.
    pub(crate) fn random_values(&self) -> Option<RandomValues> {
        let FileBytes::Random(bytes) = &self.file else { return None };
        bytes.random_values().behind(self.range.start)
    }

    /// The first dimension cut into `count` equal parts, each a tensor of as many dimensions.
    ///
    /// # Panics
    /// `count` doesn't divide the first dimension.
    pub(super) fn parts(&self, count: usize) -> impl Iterator<Item = Self> {
        assert!(self.shape[0].is_multiple_of(count), "{count} parts of {}", self.shape[0]);
        let size = self.range.len() / count;
        (0..count).map(move |i| {
            let (mut shape, start) = (self.shape.clone(), self.range.start + i * size);
            shape[0] /= count;
            Self { dtype: self.dtype, shape, file: self.file.clone(), range: start..start + size }
        })
    }

    /// Part `i` of the first dimension, as a tensor whose shape lacks this dimension.
    ///
    /// # Panics
    /// `i` isn't below the first dimension.
    #[must_use]
    pub fn index(&self, i: usize) -> Self {
        let count = self.shape[0];
        assert!(i < count, "part {i} of {count}");
        let size = self.range.len() / count;
        let start = self.range.start + i * size;
        let (shape, file) = (self.shape[1..].to_vec(), self.file.clone());
        Self { dtype: self.dtype, shape, file, range: start..start + size }
    }
}

impl WeightTensor {
    /// The tensor in f32, with `of` computed of each element.
    #[must_use]
    pub(super) fn map(&self, of: impl Fn(f32) -> f32) -> Self {
        let bytes: Vec<u8> = self.to_f32().into_iter().flat_map(|x| of(x).to_le_bytes()).collect();
        let (shape, range) = (self.shape.clone(), 0..bytes.len());
        Self { dtype: Dtype::F32, shape, file: FileBytes::Computed(bytes.into()), range }
    }

    /// Elements, widened to f32.
    pub fn to_f32(&self) -> Vec<f32> {
        let bytes = self.bytes();
        let wide = |b: &[u8; 4]| f32::from_le_bytes(*b);
        match self.dtype {
            Dtype::F32 => bytes.as_chunks().0.iter().map(wide).collect(),
            Dtype::Bf16 => bytes.as_chunks().0.iter().map(|b| bf16::from_le_bytes(*b).to_f32()).collect(),
            Dtype::F16 => bytes.as_chunks().0.iter().map(|b| f16::from_le_bytes(*b).to_f32()).collect(),
        }
    }
}

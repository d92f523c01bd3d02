//! One tensor of a model's weights.

use std::ops::Range;

use half::{bf16, f16};

use super::random::Drawn;
use crate::files::FileBytes;

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

/// One tensor: its bytes (little endian, row after row) lie in a file or in memory.
#[derive(Debug, Clone)]
pub struct WeightTensor {
    /// Element type.
    pub dtype: Dtype,
    /// Shape; its product times the element's size is the length of `bytes()`.
    pub shape: Vec<usize>,
    pub(super) file: FileBytes,
    pub(super) range: Range<usize>,
}

impl WeightTensor {
    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.file[self.range.clone()]
    }

    /// Their number, without asking for them.
    pub(super) fn len(&self) -> usize {
        self.range.len()
    }

    /// How its bytes are drawn, where they are in no file.
    pub(crate) fn drawn(&self) -> Option<Drawn> {
        drawn(&self.file, &self.range)
    }

    /// One of the tensors that it is made of: its shape lacks the first dimension.
    ///
    /// # Panics
    /// Where there is no such one.
    #[must_use]
    pub fn index(&self, i: usize) -> Self {
        let range = part(&self.shape, &self.range, i);
        Self { dtype: self.dtype, shape: self.shape[1..].to_vec(), file: self.file.clone(), range }
    }

    /// Its elements, widened.
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

/// How this part of the bytes is drawn, where they are in no file.
pub(super) fn drawn(file: &FileBytes, range: &Range<usize>) -> Option<Drawn> {
    let FileBytes::Drawn(bytes) = file else { return None };
    bytes.drawn().behind(range.start)
}

/// Where part `i` of the first dimension lies.
pub(super) fn part(shape: &[usize], range: &Range<usize>, i: usize) -> Range<usize> {
    assert!(i < shape[0], "part {i} of {}", shape[0]);
    let size = range.len() / shape[0];
    range.start + i * size..range.start + (i + 1) * size
}

//! Weight matrices as checkpoints store them: plain, or as codes with scales.

use std::ops::Range;

use safetensors::tensor::Dtype as StoredDtype;

use super::random::Drawn;
use super::tensor::{WeightTensor, drawn, part};
use crate::files::FileBytes;

/// Bytes that mean numbers only together with scales: codes of eight bits or less, or exponents.
#[derive(Debug, Clone)]
pub struct Codes {
    /// Shape; its product is the length of `bytes()`.
    pub shape: Vec<usize>,
    pub(super) file: FileBytes,
    pub(super) range: Range<usize>,
}

impl Codes {
    /// The codes.
    pub fn bytes(&self) -> &[u8] {
        &self.file[self.range.clone()]
    }

    /// Their number, without asking for them.
    pub(super) fn len(&self) -> usize {
        self.range.len()
    }

    /// How they are drawn, where they are in no file.
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
        Self { shape: self.shape[1..].to_vec(), file: self.file.clone(), range }
    }
}

/// At most what is read from the disk for one byte.
const PAGE: usize = 4096;

/// What codes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodeKind {
    /// FP8 of four bits of exponent.
    E4m3,
    /// Two of four bits each: every one is a number.
    E2m1Pairs,
    /// Exponents of two, plus 127, for values up to 6.
    E8m0,
}

impl CodeKind {
    /// The type that files give them.
    pub(super) fn stored_as(self) -> StoredDtype {
        match self {
            Self::E4m3 => StoredDtype::F8_E4M3,
            Self::E2m1Pairs | Self::E8m0 => StoredDtype::U8,
        }
    }

    /// The first code that is NaN or makes values that f32 can't hold. All of them are read, so that no step waits for the disk.
    pub(super) fn first_that_is_no_number(self, codes: &[u8]) -> Option<usize> {
        match self {
            Self::E4m3 => codes.iter().position(|code| code & 0x7f == 0x7f),
            Self::E2m1Pairs => {
                std::hint::black_box(codes.iter().step_by(PAGE).fold(0, |any, code| any | code));
                None
            }
            // 6 · 2¹²⁶ is beyond f32.
            Self::E8m0 => codes.iter().position(|code| *code > 252),
        }
    }
}

/// A weight matrix `[rows, cols]` as its checkpoint stores it.
#[derive(Debug, Clone)]
pub enum StoredMatrix {
    /// `[rows, cols]`, each element by itself.
    Plain(WeightTensor),
    /// `[cols, rows]`.
    Transposed(WeightTensor),
    /// E4M3 `[rows, cols]`, and a factor for each block of rows and columns.
    Fp8 {
        /// `[rows, cols]`.
        codes: Codes,
        /// `[⌈rows / block.0⌉, ⌈cols / block.1⌉]`.
        scales: WeightTensor,
        /// Rows and columns of a block.
        block: (usize, usize),
    },
    /// MXFP4: two codes in a byte, the lower half first, and an exponent for 32 of a row.
    Mxfp4 {
        /// `[rows, cols / 32, 16]`.
        codes: Codes,
        /// `[rows, cols / 32]`: of two, plus 127.
        scales: Codes,
    },
}

impl StoredMatrix {
    /// (rows, cols).
    pub fn shape(&self) -> (usize, usize) {
        let two = |shape: &[usize]| match *shape {
            [rows, cols] => (rows, cols),
            _ => (1, shape.iter().product()),
        };
        match self {
            Self::Plain(tensor) => two(&tensor.shape),
            Self::Transposed(tensor) => {
                let (cols, rows) = two(&tensor.shape);
                (rows, cols)
            }
            Self::Fp8 { codes, .. } => two(&codes.shape),
            Self::Mxfp4 { scales, .. } => {
                let (rows, blocks) = two(&scales.shape);
                (rows, blocks * 32)
            }
        }
    }
}

/// What a model does with a weight: devices may keep weights of different roles in different numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeightRole {
    /// Rows are taken from it.
    Embedding {
        /// It is the head, too.
        tied: bool,
    },
    /// Hidden states are multiplied with it.
    Linear,
    /// Hidden states are multiplied with it by [`Backend::swiglu`](super::Backend::swiglu) and by nothing else. Two parts: gate, and up of as many rows.
    GateUp,
    /// It makes the scores that experts are chosen by.
    Router,
    /// It makes the logits.
    Head,
}

/// One expert's weights: gate and up, and back. Biases belong to all rows of each.
#[derive(Debug, Clone)]
pub struct ExpertWeights {
    /// `[2 * intermediate, hidden]`, stacked.
    pub gate_up: Vec<StoredMatrix>,
    /// `[hidden, intermediate]`.
    pub down: StoredMatrix,
    /// Of gate and up, and of down.
    pub biases: Option<(WeightTensor, WeightTensor)>,
}

//! Weight matrices as checkpoints store them: plain, or as codes with scales.

use ops::MXFP4_BLOCK;

use super::tensor::{BlockTensor, Codes, WeightTensor};

/// A weight matrix `[rows, cols]` as its checkpoint stores it.
#[derive(Debug, Clone)]
pub enum StoredMatrix {
    /// `[rows, cols]` of plain numbers.
    Plain(WeightTensor),
    /// `[cols, rows]` of plain numbers.
    Transposed(WeightTensor),
    /// E4M3 `[rows, cols]`, and a scale for each quantisation block of rows and columns.
    Fp8 {
        /// `[rows, cols]`.
        codes: Codes,
        /// `[⌈rows / block.0⌉, ⌈cols / block.1⌉]`.
        scales: WeightTensor,
        /// Rows and columns of a quantisation block.
        block: (usize, usize),
    },
    /// MXFP4: two codes in a byte, the lower half first, and an exponent for each 32 neighbours in
    /// a row.
    Mxfp4 {
        /// `[rows, cols / 32, 16]`.
        codes: Codes,
        /// `[rows, cols / 32]` exponents of two, plus 127.
        scales: Codes,
    },
    /// `[rows, cols]` in blocks of a GGUF file.
    Blocks(BlockTensor),
}

impl StoredMatrix {
    /// Number of bytes, as stored.
    pub(super) fn stored_bytes(&self) -> usize {
        match self {
            Self::Plain(tensor) | Self::Transposed(tensor) => tensor.len(),
            Self::Fp8 { codes, scales, .. } => codes.len() + scales.len(),
            Self::Mxfp4 { codes, scales } => codes.len() + scales.len(),
            Self::Blocks(tensor) => tensor.len(),
        }
    }

    /// The rows cut into `count` equal parts; `None` where the matrix isn't stored by rows, or a
    /// block of scales has rows of two parts.
    pub(super) fn row_parts(&self, count: usize) -> Option<Vec<Self>> {
        match self {
            Self::Plain(tensor) => Some(tensor.parts(count).map(Self::Plain).collect()),
            Self::Fp8 { codes, scales, block } => {
                let is_whole = (codes.shape[0] / count).is_multiple_of(block.0);
                let both = || codes.parts(count).zip(scales.parts(count));
                let one = |(codes, scales)| Self::Fp8 { codes, scales, block: *block };
                is_whole.then(|| both().map(one).collect())
            }
            Self::Mxfp4 { codes, scales } => {
                let both = codes.parts(count).zip(scales.parts(count));
                Some(both.map(|(codes, scales)| Self::Mxfp4 { codes, scales }).collect())
            }
            Self::Blocks(tensor) => Some(tensor.parts(count).map(Self::Blocks).collect()),
            Self::Transposed(_) => None,
        }
    }

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
                (rows, blocks * MXFP4_BLOCK)
            }
            Self::Blocks(tensor) => two(&tensor.shape),
        }
    }
}

/// Role of a weight in the model: devices may keep different roles in different number types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeightRole {
    /// Embedding: rows are gathered from it.
    Embedding {
        /// Whether the embedding is also the head.
        tied: bool,
    },
    /// Linear layer: hidden states are multiplied with it.
    Linear,
    /// Gate and up of a feed-forward part, in two parts of equally many rows or one of both. Only
    /// [`Backend::gated`](super::Backend::gated) reads it.
    GateUp,
    /// Router: makes the scores that experts are chosen by, or others on which small differences
    /// tell.
    Router,
    /// Head: makes the logits.
    Head,
}

/// Weights of one expert: gate and up, and down.
#[derive(Debug, Clone)]
pub struct ExpertWeights {
    /// `[2 * intermediate, hidden]` in one or two parts, stacked by rows.
    pub gate_up: Vec<StoredMatrix>,
    /// `[hidden, intermediate]`.
    pub down: StoredMatrix,
    /// Biases of gate and up `[2 * intermediate]`, and of down `[hidden]`.
    pub biases: Option<(WeightTensor, WeightTensor)>,
}

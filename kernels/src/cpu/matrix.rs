//! Weights as the operations see them: rows of one element type, borrowed from wherever they lie (a mapped file, mostly).

use half::{bf16, f16};

use super::packed::{Fp8Blocks, Mxfp4};
use super::quantized::QuantizedMatrix;
use super::repacked::RepackedMatrix;

/// Elements of a weight.
#[derive(Debug, Clone, Copy)]
pub enum Elements<'a> {
    /// 32-bit floats.
    F32(&'a [f32]),
    /// Upper halves of 32-bit floats.
    Bf16(&'a [bf16]),
    /// The same in panels, made at load.
    Repacked(&'a RepackedMatrix),
    /// IEEE half floats.
    F16(&'a [f16]),
    /// Eight bits, and a factor for each block of rows and columns.
    Fp8(Fp8Blocks<'a>),
    /// Four bits, and a power of two for 32 of a row.
    Mxfp4(Mxfp4<'a>),
    /// Eight or four bits, made at load.
    Quantized(&'a QuantizedMatrix),
}

impl Elements<'_> {
    /// Their number.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(all) => all.len(),
            Self::Bf16(all) => all.len(),
            Self::Repacked(all) => all.len(),
            Self::F16(all) => all.len(),
            Self::Fp8(all) => all.len(),
            Self::Mxfp4(all) => all.len(),
            Self::Quantized(all) => all.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One of them, widened.
    pub fn get(&self, i: usize) -> f32 {
        match self {
            Self::F32(all) => all[i],
            Self::Bf16(all) => all[i].to_f32(),
            Self::Repacked(all) => all.get(i),
            Self::F16(all) => all[i].to_f32(),
            Self::Fp8(all) => all.get(i),
            Self::Mxfp4(all) => all.get(i),
            Self::Quantized(all) => all.get(i),
        }
    }
}

/// A matrix `[rows, cols]`, row after row.
#[derive(Debug, Clone, Copy)]
pub struct Matrix<'a> {
    elements: Elements<'a>,
    rows: usize,
    cols: usize,
    inputs: Inputs,
}

/// What a linear layer rounds its inputs to before it multiplies them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inputs {
    /// Nothing: f32. Quantised weights round to eight bits whatever is said here, and repacked ones to bf16.
    F32,
    /// bf16 where weights are bf16, or MXFP4 or FP8 (in blocks of whole 32 columns), whose codes bf16 has; others stay f32.
    AsWeights,
}

impl<'a> Matrix<'a> {
    /// # Panics
    /// Where there are not `rows * cols` elements.
    pub fn new(elements: Elements<'a>, rows: usize, cols: usize) -> Self {
        assert_eq!(Some(elements.len()), rows.checked_mul(cols), "elements of a matrix [{rows}, {cols}]");
        Self { elements, rows, cols, inputs: Inputs::F32 }
    }

    /// The same, rounding inputs otherwise.
    #[must_use]
    pub fn with_inputs(self, inputs: Inputs) -> Self {
        Self { inputs, ..self }
    }

    /// Whether its inputs are rounded to bf16.
    pub(super) fn takes_pairs(&self) -> bool {
        let as_weights = self.inputs == Inputs::AsWeights;
        match self.elements {
            Elements::Repacked(_) => true,
            Elements::Bf16(_) | Elements::Mxfp4(_) => as_weights,
            Elements::Fp8(blocks) => as_weights && blocks.is_of_pairs(),
            Elements::F32(_) | Elements::F16(_) | Elements::Quantized(_) => false,
        }
    }

    /// All elements.
    pub fn elements(&self) -> Elements<'a> {
        self.elements
    }

    /// Outputs of a linear layer.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Inputs of a linear layer.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// All elements, widened.
    pub fn to_f32(&self) -> Vec<f32> {
        (0..self.elements.len()).map(|i| self.elements.get(i)).collect()
    }
}

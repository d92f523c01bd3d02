//! Weights as the operations see them: rows of one element type, borrowed from wherever they lie (a mapped file, mostly).

use half::{bf16, f16};

use super::packed::{Fp8Blocks, Mxfp4};

/// Elements of a weight.
#[derive(Debug, Clone, Copy)]
pub enum Elements<'a> {
    /// 32-bit floats.
    F32(&'a [f32]),
    /// Upper halves of 32-bit floats.
    Bf16(&'a [bf16]),
    /// IEEE half floats.
    F16(&'a [f16]),
    /// Eight bits, and a factor for each block of rows and columns.
    Fp8(Fp8Blocks<'a>),
    /// Four bits, and a power of two for 32 of a row.
    Mxfp4(Mxfp4<'a>),
}

impl Elements<'_> {
    /// Their number.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(all) => all.len(),
            Self::Bf16(all) => all.len(),
            Self::F16(all) => all.len(),
            Self::Fp8(all) => all.len(),
            Self::Mxfp4(all) => all.len(),
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
            Self::F16(all) => all[i].to_f32(),
            Self::Fp8(all) => all.get(i),
            Self::Mxfp4(all) => all.get(i),
        }
    }
}

/// A matrix `[rows, cols]`, row after row.
#[derive(Debug, Clone, Copy)]
pub struct Matrix<'a> {
    elements: Elements<'a>,
    rows: usize,
    cols: usize,
}

impl<'a> Matrix<'a> {
    /// # Panics
    /// Where there are not `rows * cols` elements.
    pub fn new(elements: Elements<'a>, rows: usize, cols: usize) -> Self {
        assert_eq!(Some(elements.len()), rows.checked_mul(cols), "elements of a matrix [{rows}, {cols}]");
        Self { elements, rows, cols }
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

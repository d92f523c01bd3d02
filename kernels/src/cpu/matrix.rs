//! Weight matrices as the operations take them: rows of one element type, borrowed from where they
//! are stored (mostly a mapped file).

use half::{bf16, f16};

use super::packed::{FileBlocks, Fp8Blocks, Mxfp4};
use super::quantized::QuantizedMatrix;
use super::repacked::RepackedMatrix;

/// Elements of a weight matrix, by type.
#[derive(Debug, Clone, Copy)]
pub enum Elements<'a> {
    /// 32-bit floats.
    F32(&'a [f32]),
    /// bfloat16: upper halves of 32-bit floats.
    Bf16(&'a [bf16]),
    /// bfloat16 in panels, repacked at load.
    Repacked(&'a RepackedMatrix),
    /// IEEE half floats.
    F16(&'a [f16]),
    /// Codes of eight bits, and a factor for each block of rows and columns.
    Fp8(Fp8Blocks<'a>),
    /// Codes of four bits, and a power of two for each 32 neighbours of a row.
    Mxfp4(Mxfp4<'a>),
    /// Blocks of a GGUF file.
    FileBlocks(FileBlocks<'a>),
    /// Codes of eight bits or less in panels, quantised or repacked at load.
    Quantized(&'a QuantizedMatrix),
}

impl Elements<'_> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(all) => all.len(),
            Self::Bf16(all) => all.len(),
            Self::Repacked(all) => all.len(),
            Self::F16(all) => all.len(),
            Self::Fp8(all) => all.len(),
            Self::Mxfp4(all) => all.len(),
            Self::FileBlocks(all) => all.len(),
            Self::Quantized(all) => all.len(),
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns element `i`, widened to f32.
    pub fn get(&self, i: usize) -> f32 {
        match self {
            Self::F32(all) => all[i],
            Self::Bf16(all) => all[i].to_f32(),
            Self::Repacked(all) => all.get(i),
            Self::F16(all) => all[i].to_f32(),
            Self::Fp8(all) => all.get(i),
            Self::Mxfp4(all) => all.get(i),
            Self::FileBlocks(all) => all.get(i),
            Self::Quantized(all) => all.get(i),
        }
    }
}

/// Weight matrix `[rows, cols]`.
#[derive(Debug, Clone, Copy)]
pub struct Matrix<'a> {
    elements: Elements<'a>,
    rows: usize,
    cols: usize,
    inputs: InputRounding,
}

/// Type that a linear layer rounds its inputs to before it multiplies them. Quantised weights have
/// inputs of eight or sixteen bits, eight where another type is asked for, and repacked ones of bf16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputRounding {
    /// f32: inputs aren't rounded.
    F32,
    /// bf16 if weights are bf16, or MXFP4 or FP8 (in blocks of multiples of 32 columns), whose
    /// codes bf16 represents exactly; else f32.
    Bf16IfExact,
    /// Eight bits for quantised weights; f32 for others.
    EightBits,
    /// Sixteen bits for quantised weights, at up to twice the cost of eight; f32 for others.
    SixteenBits,
}

impl<'a> Matrix<'a> {
    /// Makes a matrix that takes inputs in f32, or in eight bits if its weights are quantised.
    ///
    /// # Panics
    /// If there are not `rows * cols` elements.
    pub fn new(elements: Elements<'a>, rows: usize, cols: usize) -> Self {
        assert_eq!(Some(elements.len()), rows.checked_mul(cols), "elements of a matrix [{rows}, {cols}]");
        let is_quantized = matches!(elements, Elements::Quantized(_));
        let inputs = if is_quantized { InputRounding::EightBits } else { InputRounding::F32 };
        Self { elements, rows, cols, inputs }
    }

    /// Returns the matrix with another rounding of inputs.
    #[must_use]
    pub fn with_inputs(self, inputs: InputRounding) -> Self {
        Self { inputs, ..self }
    }

    /// Whether inputs are rounded to bf16, to be multiplied in pairs.
    pub(super) fn rounds_inputs_to_bf16(&self) -> bool {
        let if_exact = self.inputs == InputRounding::Bf16IfExact;
        match self.elements {
            Elements::Repacked(_) => true,
            Elements::Bf16(_) | Elements::Mxfp4(_) => if_exact,
            Elements::Fp8(blocks) => if_exact && blocks.is_of_pairs(),
            Elements::F32(_) | Elements::F16(_) | Elements::FileBlocks(_) | Elements::Quantized(_) => false,
        }
    }

    /// Number of rows of eight bits that a row of inputs is rounded to if weights are quantised.
    pub(super) fn planes_of_inputs(&self) -> usize {
        if self.inputs == InputRounding::SixteenBits { 2 } else { 1 }
    }

    /// Elements of the matrix.
    pub fn elements(&self) -> Elements<'a> {
        self.elements
    }

    /// Number of rows, which are the outputs of a linear layer.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns, which are the inputs of a linear layer.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Returns all elements, row after row, widened to f32.
    pub fn to_f32(&self) -> Vec<f32> {
        (0..self.elements.len()).map(|i| self.elements.get(i)).collect()
    }
}

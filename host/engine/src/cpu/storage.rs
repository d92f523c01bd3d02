//! Weights in memory: slices of mapped files (or of the binary), copied only where they aren't
//! aligned for their type, are stored transposed, are quantised, or are repacked. Blocks of GGUF
//! files are repacked without loss.

use half::{bf16, f16};
use kernels::cpu::{
    Cpu, Elements, FileBlocks, Fp8Blocks, InputRounding, Matrix, Mxfp4, QuantizeError, QuantizedMatrix,
    RepackedMatrix,
};
use memmap2::MmapMut;

use super::options::{CpuOptions, InputDtype, Numerics, QuantizeTo, Repack};
use crate::models::{BlockTensor, Codes, Dtype, LoadError, StoredMatrix, WeightRole, WeightTensor, Weights};

/// Operations read elements in the machine's byte order.
const _: () = assert!(cfg!(target_endian = "little"), "weights are little endian");

/// Number of parameters from which blocks of GGUF files round their inputs to eight bits. Prompts of
/// larger models would be read more slowly than elsewhere.
const FINE_PARAMETERS: u64 = 500_000_000;

/// Options for how weights are kept in memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Storage {
    dtype: InputDtype,
    quantize: Option<QuantizeTo>,
    repack: Repack,
    /// What blocks of GGUF files round their inputs to.
    block_inputs: InputRounding,
}

/// A weight matrix of one or several parts, stacked by rows.
#[derive(Debug)]
pub(super) struct StackedMatrix {
    parts: Vec<Part>,
    /// The matrix as stored, for a tied embedding: rows are gathered from it, where `parts` are
    /// repacked or quantised for the head.
    table: Option<Part>,
}

#[derive(Debug)]
struct Part {
    weights: PartWeights,
    rows: usize,
    cols: usize,
    inputs: InputRounding,
}

#[derive(Debug)]
enum PartWeights {
    Plain { bytes: Bytes, dtype: Dtype },
    Fp8 { codes: Codes, scales: Vec<f32>, block: (usize, usize) },
    Mxfp4 { codes: Codes, scales: Codes },
    Blocks(BlockTensor),
    Repacked(RepackedMatrix),
    Quantized(QuantizedMatrix),
}

impl PartWeights {
    /// Whether the weights were repacked or quantised at load.
    fn are_converted(&self) -> bool {
        matches!(self, Self::Repacked(_) | Self::Quantized(_))
    }
}

#[derive(Debug)]
enum Bytes {
    Mapped(WeightTensor),
    Copied(MmapMut),
}

impl Storage {
    pub(super) fn new(options: &CpuOptions, weights: &Weights) -> Self {
        let Numerics { dtype, quantize, repack, .. } = options.numerics;
        Self { dtype, quantize, repack, block_inputs: block_inputs(weights.parameters()) }
    }

    /// Weights as files have them, with inputs in f32.
    pub(super) const AS_STORED: Self = Self {
        dtype: InputDtype::F32,
        quantize: None,
        repack: Repack::Never,
        block_inputs: InputRounding::EightBits,
    };

    /// Loads matrices with equally many columns, stacked by rows.
    pub(super) fn matrix(
        self,
        cpu: &Cpu,
        matrices: &[StoredMatrix],
        role: WeightRole,
    ) -> Result<StackedMatrix, LoadError> {
        let plain = || matrices.iter().map(Part::new).collect::<Result<Vec<_>, _>>();
        let parts = match (role, self.quantize) {
            // The choice of experts depends on small differences, and rows of an untied embedding
            // aren't multiplied.
            (WeightRole::Router | WeightRole::Embedding { tied: false }, _) => plain()?,
            (_, None) => self.unquantized(cpu, plain()?)?,
            // A head's errors are errors of the logits, so it has eight bits.
            (WeightRole::Head | WeightRole::Embedding { tied: true }, Some(_)) => {
                quantized(cpu, &plain()?, QuantizeTo::Q8)?
            }
            (WeightRole::Linear | WeightRole::GateUp, Some(to)) => quantized(cpu, &plain()?, to)?,
        };
        let table = match role {
            // Rows of blocks are the same in panels.
            WeightRole::Embedding { tied: true }
                if parts[0].weights.are_converted() && !matches!(matrices[0], StoredMatrix::Blocks(_)) =>
            {
                plain()?.into_iter().next()
            }
            _ => None,
        };
        Ok(StackedMatrix { parts, table })
    }

    /// Whether most weights are copies, so that the files aren't needed any longer.
    pub(super) fn copies(self, cpu: &Cpu) -> bool {
        self.quantize.is_some() || self.repacks(cpu)
    }

    fn repacks(self, cpu: &Cpu) -> bool {
        self.repack == Repack::Auto && self.dtype == InputDtype::Auto && cpu.isa().adds_pairs()
    }

    fn unquantized(self, cpu: &Cpu, parts: Vec<Part>) -> Result<Vec<Part>, LoadError> {
        let inputs = match self.dtype {
            InputDtype::Auto => InputRounding::Bf16IfExact,
            InputDtype::F32 => InputRounding::F32,
        };
        let kept = |part: Part| {
            let weights = match part.weights {
                // Whatever is asked for, blocks keep their codes.
                PartWeights::Blocks(_) if self.dtype == InputDtype::Auto => {
                    return Ok(Part { inputs: self.block_inputs, ..part.quantized(cpu, QuantizeTo::Q8)? });
                }
                _ if self.repacks(cpu) => part.repacked(cpu)?,
                _ => None,
            };
            Ok(Part { inputs, weights: weights.unwrap_or(part.weights), ..part })
        };
        parts.into_iter().map(kept).collect()
    }
}

/// Returns what blocks of a GGUF file round their inputs to: sixteen bits in small models, whose
/// answers rounding changes most and which are quick all the same, else eight. It depends on the model
/// alone, so that a row's numbers don't depend on its batch.
fn block_inputs(parameters: u64) -> InputRounding {
    if parameters < FINE_PARAMETERS { InputRounding::SixteenBits } else { InputRounding::EightBits }
}

fn quantized(cpu: &Cpu, parts: &[Part], to: QuantizeTo) -> Result<Vec<Part>, LoadError> {
    parts.iter().map(|part| part.quantized(cpu, to)).collect()
}

impl StackedMatrix {
    /// The parts as the operations take them.
    pub(super) fn parts(&self) -> Vec<Matrix<'_>> {
        self.parts.iter().map(Part::view).collect()
    }

    /// Matrix from which rows are gathered (embedding).
    pub(super) fn table(&self) -> Matrix<'_> {
        self.table.as_ref().unwrap_or(&self.parts[0]).view()
    }

    /// Name of the element type, for people.
    pub(super) fn type_name(&self) -> &'static str {
        match &self.parts[0].weights {
            PartWeights::Plain { dtype: Dtype::Bf16, .. } | PartWeights::Repacked(_) => "bf16",
            PartWeights::Plain { dtype: Dtype::F16, .. } => "f16",
            PartWeights::Plain { dtype: Dtype::F32, .. } => "f32",
            PartWeights::Fp8 { .. } => "fp8",
            PartWeights::Mxfp4 { .. } => "mxfp4",
            PartWeights::Blocks(tensor) => tensor.dtype.kind.name(),
            PartWeights::Quantized(matrix) => matrix.type_name(),
        }
    }

    /// Number of bytes that are read when the whole matrix is.
    pub(super) fn bytes(&self) -> usize {
        self.parts.iter().map(Part::bytes).sum()
    }

    /// Number of rows, which are the layer's outputs.
    pub(super) fn rows(&self) -> usize {
        self.parts.iter().map(|part| part.rows).sum()
    }
}

impl Part {
    fn new(matrix: &StoredMatrix) -> Result<Self, LoadError> {
        let (rows, cols) = matrix.shape();
        if let StoredMatrix::Fp8 { codes, .. } | StoredMatrix::Mxfp4 { codes, .. } = matrix {
            // Random codes are generated here, and not in the first step.
            let _ = codes.bytes();
        }
        let weights = match matrix {
            StoredMatrix::Plain(tensor) => {
                PartWeights::Plain { bytes: aligned(tensor)?, dtype: tensor.dtype }
            }
            StoredMatrix::Transposed(tensor) => {
                let bytes = Bytes::Copied(transposed(tensor.bytes(), (cols, rows), tensor.dtype.size())?);
                PartWeights::Plain { bytes, dtype: tensor.dtype }
            }
            StoredMatrix::Fp8 { codes, scales, block } => {
                PartWeights::Fp8 { codes: codes.clone(), scales: scales.to_f32(), block: *block }
            }
            StoredMatrix::Mxfp4 { codes, scales } => {
                PartWeights::Mxfp4 { codes: codes.clone(), scales: scales.clone() }
            }
            StoredMatrix::Blocks(tensor) => PartWeights::Blocks(tensor.clone()),
        };
        Ok(Self { weights, rows, cols, inputs: InputRounding::F32 })
    }

    fn bytes(&self) -> usize {
        match &self.weights {
            PartWeights::Plain { dtype, .. } => self.rows * self.cols * dtype.size(),
            PartWeights::Fp8 { codes, scales, .. } => codes.bytes().len() + size_of_val(&scales[..]),
            PartWeights::Mxfp4 { codes, scales } => codes.bytes().len() + scales.bytes().len(),
            PartWeights::Blocks(tensor) => tensor.bytes().len(),
            PartWeights::Repacked(matrix) => matrix.bytes(),
            PartWeights::Quantized(matrix) => matrix.bytes(),
        }
    }

    fn quantized(&self, cpu: &Cpu, to: QuantizeTo) -> Result<Self, LoadError> {
        let matrix = QuantizedMatrix::new(cpu, self.view(), to).map_err(|error| match error {
            QuantizeError::Memory(bytes) => LoadError::Memory { what: "quantised weights", bytes },
            QuantizeError::Range(row) => LoadError::Quantize { row, rows: self.rows, cols: self.cols },
        })?;
        let inputs = InputRounding::EightBits;
        Ok(Self { weights: PartWeights::Quantized(matrix), inputs, ..*self })
    }

    /// bf16 weights repacked into panels; `None` for other element types.
    fn repacked(&self, cpu: &Cpu) -> Result<Option<PartWeights>, LoadError> {
        let Elements::Bf16(all) = self.view().elements() else { return Ok(None) };
        let bytes = size_of_val(all) as u64;
        let matrix = RepackedMatrix::new(cpu, all, (self.rows, self.cols))
            .ok_or(LoadError::Memory { what: "repacked weights", bytes })?;
        Ok(Some(PartWeights::Repacked(matrix)))
    }

    fn view(&self) -> Matrix<'_> {
        let elements = match &self.weights {
            PartWeights::Plain { bytes, dtype } => plain(bytes, *dtype),
            PartWeights::Fp8 { codes, scales, block } => {
                Elements::Fp8(Fp8Blocks::new(codes.bytes(), self.cols, scales, *block))
            }
            PartWeights::Mxfp4 { codes, scales } => {
                Elements::Mxfp4(Mxfp4::new(codes.bytes(), scales.bytes(), self.cols))
            }
            PartWeights::Blocks(tensor) => {
                let blocks = FileBlocks::new(tensor.dtype.kind, tensor.bytes(), self.cols);
                let factor = tensor.dtype.factor;
                Elements::FileBlocks(factor.map_or(blocks, |factor| blocks.with_factor(factor)))
            }
            PartWeights::Repacked(matrix) => Elements::Repacked(matrix),
            PartWeights::Quantized(matrix) => Elements::Quantized(matrix),
        };
        Matrix::new(elements, self.rows, self.cols).with_inputs(self.inputs)
    }
}

fn plain(bytes: &Bytes, dtype: Dtype) -> Elements<'_> {
    let bytes = match bytes {
        Bytes::Mapped(tensor) => tensor.bytes(),
        Bytes::Copied(map) => map,
    };
    match dtype {
        Dtype::F32 => Elements::F32(bytemuck::cast_slice(bytes)),
        Dtype::Bf16 => Elements::Bf16(bytemuck::cast_slice::<u8, bf16>(bytes)),
        Dtype::F16 => Elements::F16(bytemuck::cast_slice::<u8, f16>(bytes)),
    }
}

/// The tensor, or a copy that begins at a page.
fn aligned(tensor: &WeightTensor) -> Result<Bytes, LoadError> {
    if tensor.bytes().as_ptr().addr().is_multiple_of(tensor.dtype.size()) {
        return Ok(Bytes::Mapped(tensor.clone()));
    }
    let mut map = memory("a copy of unaligned weights", tensor.bytes().len())?;
    map.copy_from_slice(tensor.bytes());
    Ok(Bytes::Copied(map))
}

/// `[rows, cols]` elements of `size` bytes as `[cols, rows]`.
fn transposed(bytes: &[u8], (rows, cols): (usize, usize), size: usize) -> Result<MmapMut, LoadError> {
    let mut map = memory("a copy of transposed weights", bytes.len())?;
    for (col, to) in map.chunks_exact_mut(rows * size).enumerate() {
        for (row, to) in to.chunks_exact_mut(size).enumerate() {
            to.copy_from_slice(&bytes[(row * cols + col) * size..][..size]);
        }
    }
    Ok(map)
}

fn memory(what: &'static str, bytes: usize) -> Result<MmapMut, LoadError> {
    MmapMut::map_anon(bytes).map_err(|_| LoadError::Memory { what, bytes: bytes as u64 })
}

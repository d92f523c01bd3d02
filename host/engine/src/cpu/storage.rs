//! Weights where they lie: slices of mapped files (or of the binary), copied only where they aren't aligned for their type.

use half::{bf16, f16};
use kernels::cpu::{Elements, Fp8Blocks, Matrix, Mxfp4};
use memmap2::MmapMut;

use crate::models::{Codes, Dtype, LoadError, StoredMatrix, WeightTensor};

/// Operations read elements as the machine does.
const _: () = assert!(cfg!(target_endian = "little"), "weights are little endian");

/// A weight matrix of one or several parts, stacked by rows.
#[derive(Debug)]
pub(super) struct StackedMatrix {
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    weights: PartWeights,
    rows: usize,
    cols: usize,
}

#[derive(Debug)]
enum PartWeights {
    Plain { bytes: Bytes, dtype: Dtype },
    Fp8 { codes: Codes, scales: Vec<f32>, block: (usize, usize) },
    Mxfp4 { codes: Codes, scales: Codes },
}

#[derive(Debug)]
enum Bytes {
    Lent(WeightTensor),
    Copied(MmapMut),
}

impl StackedMatrix {
    /// Takes over matrices that have as many columns.
    pub(super) fn new(matrices: &[StoredMatrix]) -> Result<Self, LoadError> {
        let parts = matrices.iter().map(Part::new).collect::<Result<_, _>>()?;
        Ok(Self { parts })
    }

    /// The parts as the operations take them.
    pub(super) fn parts(&self) -> Vec<Matrix<'_>> {
        self.parts.iter().map(Part::view).collect()
    }

    /// Its element type, for people.
    pub(super) fn type_name(&self) -> &'static str {
        match &self.parts[0].weights {
            PartWeights::Plain { dtype: Dtype::Bf16, .. } => "bf16",
            PartWeights::Plain { dtype: Dtype::F16, .. } => "f16",
            PartWeights::Plain { dtype: Dtype::F32, .. } => "f32",
            PartWeights::Fp8 { .. } => "fp8",
            PartWeights::Mxfp4 { .. } => "mxfp4",
        }
    }

    /// Bytes that are read where all of it is.
    pub(super) fn bytes(&self) -> usize {
        self.parts.iter().map(Part::bytes).sum()
    }

    /// Its rows: outputs.
    pub(super) fn rows(&self) -> usize {
        self.parts.iter().map(|part| part.rows).sum()
    }
}

impl Part {
    fn new(matrix: &StoredMatrix) -> Result<Self, LoadError> {
        let (rows, cols) = matrix.shape();
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
        };
        Ok(Self { weights, rows, cols })
    }

    fn bytes(&self) -> usize {
        match &self.weights {
            PartWeights::Plain { dtype, .. } => self.rows * self.cols * dtype.size(),
            PartWeights::Fp8 { codes, scales, .. } => codes.bytes().len() + size_of_val(&scales[..]),
            PartWeights::Mxfp4 { codes, scales } => codes.bytes().len() + scales.bytes().len(),
        }
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
        };
        Matrix::new(elements, self.rows, self.cols)
    }
}

fn plain(bytes: &Bytes, dtype: Dtype) -> Elements<'_> {
    let bytes = match bytes {
        Bytes::Lent(tensor) => tensor.bytes(),
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
        return Ok(Bytes::Lent(tensor.clone()));
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

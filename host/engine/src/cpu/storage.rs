//! Weights where they lie: slices of mapped files (or of the binary), copied only where they aren't aligned for their type.

use half::{bf16, f16};
use kernels::cpu::{Elements, Matrix};
use memmap2::MmapMut;

use crate::models::{Dtype, LoadError, WeightTensor};

/// Operations read elements as the machine does.
const _: () = assert!(cfg!(target_endian = "little"), "weights are little endian");

/// A weight matrix of one or several parts, stacked by rows.
#[derive(Debug)]
pub(super) struct StackedMatrix {
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    bytes: Bytes,
    dtype: Dtype,
    rows: usize,
    cols: usize,
}

#[derive(Debug)]
enum Bytes {
    Lent(WeightTensor),
    Copied(MmapMut),
}

impl StackedMatrix {
    /// Takes over tensors of shape `[rows, cols]`.
    pub(super) fn new(tensors: &[WeightTensor]) -> Result<Self, LoadError> {
        let parts = tensors.iter().map(Part::new).collect::<Result<_, _>>()?;
        Ok(Self { parts })
    }

    /// The parts as the operations take them.
    pub(super) fn parts(&self) -> Vec<Matrix<'_>> {
        self.parts.iter().map(Part::view).collect()
    }

    /// Its element type.
    pub(super) fn dtype(&self) -> Dtype {
        self.parts[0].dtype
    }

    /// Its rows: outputs.
    pub(super) fn rows(&self) -> usize {
        self.parts.iter().map(|part| part.rows).sum()
    }
}

impl Part {
    fn new(tensor: &WeightTensor) -> Result<Self, LoadError> {
        let (rows, cols) = match tensor.shape[..] {
            [rows, cols] => (rows, cols),
            _ => (1, tensor.bytes().len() / tensor.dtype.size()),
        };
        let bytes = if tensor.bytes().as_ptr().addr().is_multiple_of(tensor.dtype.size()) {
            Bytes::Lent(tensor.clone())
        } else {
            Bytes::Copied(copied(tensor.bytes())?)
        };
        Ok(Self { bytes, dtype: tensor.dtype, rows, cols })
    }

    fn view(&self) -> Matrix<'_> {
        let bytes = match &self.bytes {
            Bytes::Lent(tensor) => tensor.bytes(),
            Bytes::Copied(map) => map,
        };
        let elements = match self.dtype {
            Dtype::F32 => Elements::F32(bytemuck::cast_slice(bytes)),
            Dtype::Bf16 => Elements::Bf16(bytemuck::cast_slice::<u8, bf16>(bytes)),
            Dtype::F16 => Elements::F16(bytemuck::cast_slice::<u8, f16>(bytes)),
        };
        Matrix::new(elements, self.rows, self.cols)
    }
}

/// A copy that begins at a page.
fn copied(bytes: &[u8]) -> Result<MmapMut, LoadError> {
    let no_memory = |_| LoadError::Memory { what: "a copy of unaligned weights", bytes: bytes.len() as u64 };
    let mut map = MmapMut::map_anon(bytes.len()).map_err(no_memory)?;
    map.copy_from_slice(bytes);
    Ok(map)
}

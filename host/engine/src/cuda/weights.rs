//! Weights on the device: bf16 as they are stored, or rounded to it from f16 and f32.

use cuda_kernels::DevicePtr;
use half::{bf16, f16};

use super::driver::Driver;
use super::upload::Uploader;
use crate::models::{Dtype, LoadError, StoredMatrix, WeightRole, WeightTensor};

/// A weight matrix `[rows, cols]`, bf16, whose parts lie one behind the other.
#[derive(Debug)]
pub(super) struct DeviceMatrix {
    pub(super) at: DevicePtr,
    pub(super) rows: usize,
    pub(super) cols: usize,
    /// Rows come in turns of eight of the first part and eight of the second: gate and up, for `SwiGlu` on the way.
    pub(super) takes_turns: bool,
}

/// Rows of a turn.
const TURN: usize = 8;

/// A vector of f32.
#[derive(Debug)]
pub(super) struct DeviceVector {
    pub(super) at: DevicePtr,
}

/// What weights go to the device with.
#[derive(Debug)]
pub(super) struct WeightUpload(Uploader);

impl WeightUpload {
    pub(super) fn new(driver: &mut dyn Driver) -> Result<Self, LoadError> {
        Ok(Self(Uploader::new(driver)?))
    }

    /// Begins to copy parts that have as many columns.
    pub(super) fn matrix(
        &mut self,
        driver: &mut dyn Driver,
        parts: &[StoredMatrix],
        role: WeightRole,
    ) -> Result<DeviceMatrix, LoadError> {
        let tensors = parts.iter().map(plain).collect::<Result<Vec<_>, _>>()?;
        let rows = parts.iter().map(|part| part.shape().0).sum::<usize>();
        let cols = parts[0].shape().1;
        let mut at = driver.allocate("weights", rows * cols * 2)?;
        let in_turns = (role == WeightRole::GateUp).then(|| turns(&tensors, rows)).flatten();
        let matrix = DeviceMatrix { at, rows, cols, takes_turns: in_turns.is_some() };
        if let Some(parts) = in_turns {
            let turn = TURN * cols * 2;
            let fill = &mut |offset, out: &mut [u8]| fill_in_turns(parts, turn, offset, out);
            self.0.upload(driver, at, rows * cols * 2, fill)?;
            return Ok(matrix);
        }
        for (tensor, part) in tensors.into_iter().zip(parts) {
            let bytes = part.shape().0 * cols * 2;
            self.0.upload(driver, at, bytes, &mut |offset, out| as_bf16(tensor, offset, out))?;
            at = at.offset(bytes as u64);
        }
        Ok(matrix)
    }

    /// Begins to copy vectors, one behind the other.
    pub(super) fn vector(
        &mut self,
        driver: &mut dyn Driver,
        parts: &[WeightTensor],
    ) -> Result<DeviceVector, LoadError> {
        let values: Vec<f32> = parts.iter().flat_map(WeightTensor::to_f32).collect();
        self.values(driver, &values)
    }

    /// The same of numbers that no file has.
    pub(super) fn values(
        &mut self,
        driver: &mut dyn Driver,
        values: &[f32],
    ) -> Result<DeviceVector, LoadError> {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let at = driver.allocate("weights", bytes.len())?;
        let fill = &mut |offset, out: &mut [u8]| out.copy_from_slice(&bytes[offset..][..out.len()]);
        self.0.upload(driver, at, bytes.len(), fill)?;
        Ok(DeviceVector { at })
    }
}

/// Gate and up, where their rows may take turns: half of all rows each, whole turns of them.
fn turns<'a>(tensors: &[&'a WeightTensor], rows: usize) -> Option<[&'a WeightTensor; 2]> {
    let &[gate, up] = tensors else { return None };
    (gate.shape == up.shape && rows.is_multiple_of(2 * TURN)).then_some([gate, up])
}

/// Writes two parts in turns of so many bytes, from byte `offset` of the result on.
fn fill_in_turns(parts: [&WeightTensor; 2], turn: usize, mut offset: usize, mut out: &mut [u8]) {
    while !out.is_empty() {
        let (number, within) = (offset / turn, offset % turn);
        let (piece, rest) = out.split_at_mut((turn - within).min(out.len()));
        as_bf16(parts[number % 2], number / 2 * turn + within, piece);
        (offset, out) = (offset + piece.len(), rest);
    }
}

fn plain(matrix: &StoredMatrix) -> Result<&WeightTensor, LoadError> {
    let what = match matrix {
        StoredMatrix::Plain(tensor) => return Ok(tensor),
        StoredMatrix::Transposed(_) => "weights stored by columns",
        StoredMatrix::Fp8 { .. } => "FP8 weights",
        StoredMatrix::Mxfp4 { .. } => "MXFP4 weights",
    };
    Err(unsupported(what))
}

/// The error for what there is no kernel for.
pub(super) fn unsupported(what: &str) -> LoadError {
    LoadError::Unsupported { device: "cuda", what: what.to_owned() }
}

/// Writes elements as bf16, from byte `offset` of the result on.
fn as_bf16(tensor: &WeightTensor, offset: usize, out: &mut [u8]) {
    let (bytes, first) = (tensor.bytes(), offset / 2);
    let to = out.as_chunks_mut::<2>().0;
    match tensor.dtype {
        Dtype::Bf16 => out.copy_from_slice(&bytes[offset..][..out.len()]),
        Dtype::F16 => {
            for (to, from) in to.iter_mut().zip(&bytes.as_chunks::<2>().0[first..]) {
                *to = bf16::from_f32(f16::from_le_bytes(*from).to_f32()).to_le_bytes();
            }
        }
        Dtype::F32 => {
            for (to, from) in to.iter_mut().zip(&bytes.as_chunks::<4>().0[first..]) {
                *to = bf16::from_f32(f32::from_le_bytes(*from)).to_le_bytes();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::Weights;

    #[test]
    fn rows_of_gate_and_up_take_turns_wherever_a_copy_begins() {
        let (rows, cols) = (24, 3);
        let weights = Weights::random(5);
        let parts = ["gate", "up"].map(|name| weights.tensor(name, &[rows, cols]).unwrap());
        let mut wanted = Vec::new();
        for turn in 0..rows / TURN {
            for part in &parts {
                let row = TURN * cols * 2;
                wanted.extend_from_slice(&part.bytes()[turn * row..][..row]);
            }
        }
        let [gate, up] = &parts;
        for piece in [2, 10, 48, 50, wanted.len()] {
            let mut got = vec![0; wanted.len()];
            for (i, out) in got.chunks_mut(piece).enumerate() {
                fill_in_turns([gate, up], TURN * cols * 2, i * piece, out);
            }
            assert_eq!(got, wanted, "pieces of {piece}");
        }
    }

    #[test]
    fn parts_that_are_no_whole_turns_lie_one_behind_the_other() {
        let weights = Weights::random(5);
        let tensor = |rows: usize| weights.tensor("part", &[rows, 3]).unwrap();
        let (odd, even, other) = (tensor(12), tensor(16), tensor(8));
        assert!(turns(&[&odd, &odd], 24).is_none() && turns(&[&even, &other], 24).is_none());
        assert!(turns(&[&even, &even], 32).is_some() && turns(&[&even], 16).is_none());
    }
}

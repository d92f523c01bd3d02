//! Weights on the device: bf16 and FP8 as they are stored, or converted to bf16 from f16, f32, and
//! FP8 that no kernel takes. Experts may stay in other quantisation codes too (`ops::moe`).

use cuda_kernels::{DevicePtr, Fp8Scales, LinearWeight};

use super::content::{Content, write_all};
use super::driver::Driver;
use super::fp8::Fp8Contents;
use super::upload::Uploader;
use crate::models::ops::QueryScaling;
use crate::models::{LoadError, StoredMatrix, WeightRole, WeightTensor};

/// A weight matrix `[rows, cols]`; several stored matrices may be stacked in it by rows.
#[derive(Debug)]
pub(super) struct DeviceMatrix {
    pub(super) weight: LinearWeight,
    pub(super) rows: usize,
    pub(super) cols: usize,
    /// Whether rows of gate and up are interleaved, eight of each, so that a linear kernel can
    /// apply `SwiGLU` to its sums.
    pub(super) is_interleaved: bool,
}

/// Rows of gate, and then of up, that lie together in an interleaved matrix.
pub(super) const INTERLEAVED: usize = 8;

/// A vector of f32.
#[derive(Debug)]
pub(super) struct DeviceVector {
    pub(super) at: DevicePtr,
}

/// Uploads weights to the device.
#[derive(Debug)]
pub(super) struct WeightUpload(Uploader);

impl WeightUpload {
    pub(super) fn new(driver: &mut dyn Driver) -> Result<Self, LoadError> {
        Ok(Self(Uploader::new(driver)?))
    }

    /// Enqueues the copy of matrices of the same width, stacked by rows.
    pub(super) fn matrix(
        &mut self,
        driver: &mut dyn Driver,
        parts: &[StoredMatrix],
        role: WeightRole,
    ) -> Result<DeviceMatrix, LoadError> {
        let rows = parts.iter().map(|part| part.shape().0).sum::<usize>();
        let cols = parts[0].shape().1;
        let is_interleaved = role == WeightRole::GateUp && may_interleave(parts);
        // Rows of an embedding are gathered by a kernel for bf16.
        let fp8 = match role {
            WeightRole::Embedding { .. } => None,
            _ => Fp8Contents::of(&parts.iter().collect::<Vec<_>>()),
        };
        let weight = if let Some(Fp8Contents { codes, scales, block_cols }) = fp8 {
            let at = self.put_rows(driver, &codes, is_interleaved.then_some(INTERLEAVED * cols))?;
            let row_bytes = cols.div_ceil(block_cols as usize) * size_of::<f32>();
            let scales = self.put_rows(driver, &scales, is_interleaved.then_some(row_bytes))?;
            LinearWeight { at, fp8: Some(Fp8Scales { at: scales, block_cols }) }
        } else {
            let contents = parts.iter().map(Content::bf16).collect::<Result<Vec<_>, _>>()?;
            let piece = is_interleaved.then_some(INTERLEAVED * cols * 2);
            LinearWeight::bf16(self.put_rows(driver, &contents, piece)?)
        };
        Ok(DeviceMatrix { weight, rows, cols, is_interleaved })
    }

    /// Enqueues the writing of contents one behind the other, or interleaved in pieces of so many
    /// bytes.
    fn put_rows(
        &mut self,
        driver: &mut dyn Driver,
        contents: &[Content<'_>],
        piece: Option<usize>,
    ) -> Result<DevicePtr, LoadError> {
        match piece {
            Some(piece) => self.put(driver, &interleaved(contents, piece)),
            None => self.put(driver, contents),
        }
    }

    /// Enqueues the writing of contents one behind the other. Pieces of an upload may cross from
    /// one content to the next; random contents are random on the device.
    pub(super) fn put(
        &mut self,
        driver: &mut dyn Driver,
        contents: &[Content<'_>],
    ) -> Result<DevicePtr, LoadError> {
        let bytes = |contents: &[Content<'_>]| contents.iter().map(Content::bytes).sum::<usize>();
        let start = driver.allocate("weights", bytes(contents))?;
        let mut at = start;
        for run in contents.chunk_by(|a, b| !a.is_random() && !b.is_random()) {
            if let Some(launch) = run[0].draw(at) {
                driver.prepare(&[launch.kernel.variant()], &mut |_| {})?;
                driver.launch(&launch)?;
            } else {
                let fill = &|offset, out: &mut [u8]| write_all(run, offset, out);
                self.0.upload(driver, at, bytes(run), fill)?;
            }
            at = at.offset(bytes(run) as u64);
        }
        Ok(start)
    }

    /// Enqueues the copy of vectors as f32, one behind the other.
    pub(super) fn vector(
        &mut self,
        driver: &mut dyn Driver,
        parts: &[WeightTensor],
    ) -> Result<DeviceVector, LoadError> {
        let values: Vec<f32> = parts.iter().flat_map(WeightTensor::to_f32).collect();
        self.values(driver, &values)
    }

    /// Enqueues the copy of computed f32 values.
    pub(super) fn values(
        &mut self,
        driver: &mut dyn Driver,
        values: &[f32],
    ) -> Result<DeviceVector, LoadError> {
        Ok(DeviceVector { at: self.put(driver, &[Content::Values(values.to_vec())])? })
    }
}

/// Rotary embedding on the device.
#[derive(Debug)]
pub(super) struct Rope {
    /// Radians per position of each pair of rotated dimensions.
    pub(super) frequencies: DeviceVector,
    /// Number of these pairs.
    pub(super) pairs: usize,
    /// Factor of the cosines and sines.
    pub(super) factor: f32,
    /// Scaling of queries by their position.
    pub(super) query_scaling: Option<QueryScaling>,
}

/// Whether the parts are two matrices of one shape, whose number of rows is a multiple of
/// [`INTERLEAVED`].
fn may_interleave(parts: &[StoredMatrix]) -> bool {
    matches!(parts, [gate, up] if gate.shape() == up.shape() && gate.shape().0.is_multiple_of(INTERLEAVED))
}

/// Contents of one size, interleaved in pieces of `piece` bytes.
fn interleaved<'a>(contents: &'a [Content<'a>], piece: usize) -> Vec<Content<'a>> {
    let bytes = contents.first().map_or(0, Content::bytes);
    let of_each =
        |start| contents.iter().map(move |whole| Content::Part { whole, part: start..start + piece });
    (0..bytes).step_by(piece).flat_map(of_each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::{CodeKind, Weights};

    /// Checks two contents of rows of `row` bytes, written in pieces of any size.
    fn check_interleaved(contents: &[Content<'_>; 2], row: usize, sizes: &[usize]) {
        let group = INTERLEAVED * row;
        let whole = contents.each_ref().map(|content| {
            let mut bytes = vec![0; content.bytes()];
            content.write(0, &mut bytes);
            bytes
        });
        let groups = whole[0].chunks(group).zip(whole[1].chunks(group));
        let wanted: Vec<u8> = groups.flat_map(|(gate, up)| [gate, up].concat()).collect();
        let contents = interleaved(contents, group);
        for piece in sizes.iter().copied().chain([wanted.len()]) {
            let mut got = vec![0; wanted.len()];
            for (i, out) in got.chunks_mut(piece).enumerate() {
                write_all(&contents, i * piece, out);
            }
            assert_eq!(got, wanted, "pieces of {piece}");
        }
    }

    #[test]
    fn gate_and_up_rows_interleave_wherever_a_copy_begins() {
        let (rows, cols) = (24, 3);
        let weights = Weights::random(5);
        let tensors = ["gate", "up"].map(|name| weights.tensor(name, &[rows, cols]).unwrap());
        check_interleaved(&tensors.each_ref().map(Content::Plain), 2 * cols, &[2, 10, 48, 50]);
        let codes = ["gate", "up"].map(|name| weights.codes(name, &[rows, cols], CodeKind::E4m3).unwrap());
        check_interleaved(&codes.each_ref().map(Content::Codes), cols, &[1, 5, 24, 25]);
    }

    #[test]
    fn parts_unfit_to_interleave_lie_one_after_another() {
        let weights = Weights::random(5);
        let part = |rows: usize| StoredMatrix::Plain(weights.tensor("part", &[rows, 3]).unwrap());
        assert!(!may_interleave(&[part(12), part(12)]) && !may_interleave(&[part(16), part(8)]));
        assert!(may_interleave(&[part(16), part(16)]) && !may_interleave(&[part(16)]));
    }
}

//! Weights on the device: bf16 as they are stored, or made it from f16, f32 and FP8. Experts may stay codes (`ops::moe`).

use cuda_kernels::DevicePtr;

use super::content::{Content, write_all};
use super::driver::Driver;
use super::upload::Uploader;
use crate::models::{LoadError, StoredMatrix, WeightTensor};

/// A weight matrix `[rows, cols]`, bf16, whose parts lie one behind the other.
#[derive(Debug)]
pub(super) struct DeviceMatrix {
    pub(super) at: DevicePtr,
    pub(super) rows: usize,
    pub(super) cols: usize,
}

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
    ) -> Result<DeviceMatrix, LoadError> {
        let contents = parts.iter().map(Content::bf16).collect::<Result<Vec<_>, _>>()?;
        let rows = parts.iter().map(|part| part.shape().0).sum::<usize>();
        Ok(DeviceMatrix { at: self.put(driver, &contents)?, rows, cols: parts[0].shape().1 })
    }

    /// Begins to write contents one behind the other, in pieces that don't end with them; what is random is drawn on the device.
    pub(super) fn put(
        &mut self,
        driver: &mut dyn Driver,
        contents: &[Content<'_>],
    ) -> Result<DevicePtr, LoadError> {
        let bytes = |contents: &[Content<'_>]| contents.iter().map(Content::bytes).sum::<usize>();
        let start = driver.allocate("weights", bytes(contents))?;
        let mut at = start;
        for run in contents.chunk_by(|a, b| !a.is_drawn() && !b.is_drawn()) {
            if let Some(launch) = run[0].draw(at) {
                driver.prepare(&[launch.kernel.variant()], &mut |_| {})?;
                driver.launch(&launch)?;
            } else {
                let fill = &mut |offset, out: &mut [u8]| write_all(run, offset, out);
                self.0.upload(driver, at, bytes(run), fill)?;
            }
            at = at.offset(bytes(run) as u64);
        }
        Ok(start)
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
        Ok(DeviceVector { at: self.put(driver, &[Content::Values(values.to_vec())])? })
    }
}

/// The error for what there is no kernel for.
pub(super) fn unsupported(what: &str) -> LoadError {
    LoadError::Unsupported { device: "cuda", what: what.to_owned() }
}

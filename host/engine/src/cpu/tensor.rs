//! Activations on the CPU.

use crate::models::LoadError;

/// Activations `[n, cols]`, with room for the largest step.
#[derive(Debug)]
pub(super) struct Tensor {
    pub(super) data: Vec<f32>,
    pub(super) cols: usize,
}

impl Tensor {
    pub(super) fn new(rows: usize, cols: usize) -> Result<Self, LoadError> {
        let elements = rows.saturating_mul(cols);
        let bytes = (elements as u64).saturating_mul(size_of::<f32>() as u64);
        // Pages that are never written take no memory.
        let data = bytemuck::allocation::try_zeroed_vec(elements)
            .map_err(|()| LoadError::Memory { what: "activations", bytes })?;
        Ok(Self { data, cols })
    }

    pub(super) fn rows(&self, rows: usize) -> &[f32] {
        &self.data[..rows * self.cols]
    }

    pub(super) fn rows_mut(&mut self, rows: usize) -> &mut [f32] {
        &mut self.data[..rows * self.cols]
    }
}

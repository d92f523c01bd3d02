//! Tokens chosen on the host, from logits that were copied there: the CPU's sampler behind the device's steps.

use cuda_kernels::DevicePtr;

use super::CudaError;
use super::driver::{Driver, Event, HostMemory};
use crate::cpu::Sampler;
use crate::runner::{Draws, Sampled};

/// Logits on their way to the host, and what chooses from them.
#[derive(Debug)]
pub(super) struct HostSampler {
    logits: Box<dyn HostMemory>,
    copied: Event,
    vocab: usize,
    sampler: Sampler,
}

impl HostSampler {
    /// For at most so many rows of a step.
    pub(super) fn new(driver: &mut dyn Driver, rows: usize, vocab: usize) -> Result<Self, CudaError> {
        let logits = driver.pinned(rows * vocab * 4)?;
        Ok(Self { logits, copied: driver.event()?, vocab, sampler: Sampler::default() })
    }

    /// Begins to copy the first `rows` rows.
    pub(super) fn fetch(
        &mut self,
        driver: &mut dyn Driver,
        from: DevicePtr,
        rows: usize,
    ) -> Result<(), CudaError> {
        driver.download(from, rows * self.vocab * 4, self.logits.as_mut())?;
        driver.record(self.copied)
    }

    /// Waits for them, and chooses a token for each of `rows`.
    pub(super) fn sample(
        &mut self,
        driver: &mut dyn Driver,
        rows: &[usize],
        draws: &Draws<'_>,
    ) -> Result<Sampled, CudaError> {
        driver.wait(self.copied)?;
        let choose = |(at, (row, draw))| {
            let (mask, edits) = draws.limits(at);
            let logits = bytemuck::cast_slice(&self.logits.bytes()[row * self.vocab * 4..][..self.vocab * 4]);
            self.sampler.next(logits, draw, mask, edits)
        };
        Ok(Sampled { rows: rows.iter().copied().zip(draws.rows).enumerate().map(choose).collect() })
    }

    /// The logits of a row, once they are there.
    #[cfg(test)]
    pub(super) fn row(&self, row: usize) -> &[f32] {
        bytemuck::cast_slice(&self.logits.bytes()[row * self.vocab * 4..][..self.vocab * 4])
    }
}

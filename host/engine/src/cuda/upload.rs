//! Upload of weights through two pinned buffers in turn, so that one is filled, by several threads,
//! while the other is copied.

use cuda_kernels::DevicePtr;

use super::CudaError;
use super::driver::{Driver, Event, HostMemory};
use crate::parallel;

/// Bytes of a buffer.
const PIECE: usize = 16 << 20;

/// Two pinned buffers for uploads of any size.
#[derive(Debug)]
pub(super) struct Uploader {
    pieces: [Piece; 2],
    next: usize,
}

#[derive(Debug)]
struct Piece {
    memory: Box<dyn HostMemory>,
    /// Event that comes when the last copy from `memory` is done.
    copied: Event,
    in_use: bool,
}

impl Uploader {
    pub(super) fn new(driver: &mut dyn Driver) -> Result<Self, CudaError> {
        let mut piece =
            || Ok(Piece { memory: driver.pinned(PIECE)?, copied: driver.event()?, in_use: false });
        Ok(Self { pieces: [piece()?, piece()?], next: 0 })
    }

    /// Copies `bytes` bytes to the device; `fill(offset, out)` writes the bytes from `offset` on
    /// into `out`.
    pub(super) fn upload(
        &mut self,
        driver: &mut dyn Driver,
        to: DevicePtr,
        bytes: usize,
        fill: &(dyn Fn(usize, &mut [u8]) + Sync),
    ) -> Result<(), CudaError> {
        for offset in (0..bytes).step_by(PIECE) {
            let piece = &mut self.pieces[self.next];
            if std::mem::take(&mut piece.in_use) {
                driver.wait(piece.copied)?;
            }
            let len = PIECE.min(bytes - offset);
            let memory = &mut piece.memory.bytes_mut()[..len];
            parallel::fill_chunks(memory, |begin, chunk| fill(offset + begin, chunk));
            driver.upload(piece.memory.as_ref(), 0..len, to.offset(offset as u64))?;
            driver.record(piece.copied)?;
            piece.in_use = true;
            self.next = 1 - self.next;
        }
        Ok(())
    }
}

//! Staging buffers in pinned memory for the inputs of steps: a ring, so that the host writes the
//! next step's inputs while earlier ones are copied.

use super::CudaError;
use super::driver::{Driver, Event, HostMemory};

/// Number of buffers: two for the steps that may be under way, and one that is written.
const SLOTS: usize = 3;

/// Ring of pinned buffers; each is reused once the copies from it are done.
#[derive(Debug)]
pub(super) struct StagingRing {
    slots: [Slot; SLOTS],
    next: usize,
}

#[derive(Debug)]
struct Slot {
    memory: Box<dyn HostMemory>,
    /// Event that comes when the copies from `memory` are done.
    copied: Event,
    in_use: bool,
}

impl StagingRing {
    /// Ring of buffers of `bytes` bytes each.
    pub(super) fn new(driver: &mut dyn Driver, bytes: usize) -> Result<Self, CudaError> {
        let mut slot = || Ok(Slot { memory: driver.pinned(bytes)?, copied: driver.event()?, in_use: false });
        Ok(Self { slots: [slot()?, slot()?, slot()?], next: 0 })
    }

    /// Lends the next buffer to `send`, which writes to it and enqueues copies from it. Waits first
    /// until the buffer's earlier copies are done.
    pub(super) fn send(
        &mut self,
        driver: &mut dyn Driver,
        send: impl FnOnce(&mut dyn Driver, &mut dyn HostMemory) -> Result<(), CudaError>,
    ) -> Result<(), CudaError> {
        let slot = &mut self.slots[self.next];
        if std::mem::take(&mut slot.in_use) {
            driver.wait(slot.copied)?;
        }
        self.next = (self.next + 1) % SLOTS;
        send(driver, slot.memory.as_mut())?;
        slot.in_use = true;
        driver.record(slot.copied)
    }
}

//! Pinned memory for what steps send to the device: a ring, so that the host writes the next step's while the last ones are copied.

use super::CudaError;
use super::driver::{Driver, Event, HostMemory};

/// As many as steps may be under way, and one that is written.
const SLOTS: usize = 3;

/// See the module.
#[derive(Debug)]
pub(super) struct StagingRing {
    slots: [Slot; SLOTS],
    next: usize,
}

#[derive(Debug)]
struct Slot {
    memory: Box<dyn HostMemory>,
    /// Comes when the copies from it are done.
    copied: Event,
    in_use: bool,
}

impl StagingRing {
    /// Each slot has so many bytes.
    pub(super) fn new(driver: &mut dyn Driver, bytes: usize) -> Result<Self, CudaError> {
        let mut slot = || Ok(Slot { memory: driver.pinned(bytes)?, copied: driver.event()?, in_use: false });
        Ok(Self { slots: [slot()?, slot()?, slot()?], next: 0 })
    }

    /// Lends the next slot to `send`, which writes to it and begins its copies; waits for those that were begun from it before.
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

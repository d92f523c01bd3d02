//! Block tables on the device, `[lanes, width]` u32. A batch's edits of them are copied to the
//! device in front of its step.

use cuda_kernels::DevicePtr;

use super::CudaError;
use super::driver::Driver;
use super::staging::StagingRing;
use crate::batch::TableEdit;

/// Edits that one staging buffer holds; more edits take several buffers.
const ENTRIES: usize = 1 << 14;

/// Block tables of all lanes, and the staging buffers of their edits.
#[derive(Debug)]
pub(super) struct DeviceTables {
    at: DevicePtr,
    /// Entries of a lane's table.
    width: usize,
    staging: StagingRing,
}

impl DeviceTables {
    /// Tables whose entries are all block 0.
    pub(super) fn new(driver: &mut dyn Driver, lanes: usize, width: usize) -> Result<Self, CudaError> {
        let bytes = lanes * width * 4;
        let at = driver.allocate("block tables", bytes)?;
        driver.zero(at, bytes)?;
        Ok(Self { at, width, staging: StagingRing::new(driver, ENTRIES * 4)? })
    }

    /// Address of the first lane's table.
    pub(super) fn at(&self) -> DevicePtr {
        self.at
    }

    /// Entries of a lane's table.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Enqueues writes of entries; consecutive entries of a lane are one copy.
    pub(super) fn apply(&mut self, driver: &mut dyn Driver, edits: &[TableEdit]) -> Result<(), CudaError> {
        let (at, width) = (self.at, self.width);
        for edits in edits.chunks(ENTRIES) {
            self.staging.send(driver, |driver, memory| {
                for (to, edit) in memory.bytes_mut().as_chunks_mut::<4>().0.iter_mut().zip(edits) {
                    *to = edit.block.to_le_bytes();
                }
                let mut begin = 0;
                for run in edits.chunk_by(follows) {
                    let end = begin + run.len() * 4;
                    let entry = run[0].lane as usize * width + run[0].at as usize;
                    driver.upload(&*memory, begin..end, at.offset(entry as u64 * 4))?;
                    begin = end;
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

fn follows(a: &TableEdit, b: &TableEdit) -> bool {
    a.lane == b.lane && b.at == a.at + 1
}

//! The seam to a device: memory, copies, launches, events and graphs, on one stream. The real one is CUDA's driver (`real`); tests have
//! one that records and fails on demand, and one that runs kernels on the CPU.
//!
//! Invariants: everything is done in the order of the calls; only `wait` and `synchronize` wait. Memory is given back with the driver, never
//! before, since graphs hold addresses. After a sticky error every call fails.

use std::ops::Range;

use cuda_kernels::{DevicePtr, Launch, Variant};

use super::CudaError;

/// A device and its stream.
pub(super) trait Driver: Send + std::fmt::Debug {
    /// What the device is.
    fn device(&self) -> &super::DeviceInfo;
    /// Its memory now.
    fn memory(&self) -> Result<DeviceMemory, CudaError>;
    /// Memory with nothing in it, aligned for every access; `what` it is for, for the error.
    fn allocate(&mut self, what: &'static str, bytes: usize) -> Result<DevicePtr, CudaError>;
    /// Memory of the host that the device copies to and from while the host goes on.
    fn pinned(&mut self, bytes: usize) -> Result<Box<dyn HostMemory>, CudaError>;
    /// Begins a copy of a part of `from`, which stays as it is until an event behind it has come.
    fn upload(&mut self, from: &dyn HostMemory, part: Range<usize>, to: DevicePtr) -> Result<(), CudaError>;
    /// Begins a copy to the first `bytes` of `to`, which may be read when an event behind it has come.
    fn download(&mut self, from: DevicePtr, bytes: usize, to: &mut dyn HostMemory) -> Result<(), CudaError>;
    /// Begins a copy within the device.
    fn copy(&mut self, from: DevicePtr, bytes: usize, to: DevicePtr) -> Result<(), CudaError>;
    /// Begins to write zeros.
    fn zero(&mut self, at: DevicePtr, bytes: usize) -> Result<(), CudaError>;
    /// Makes kernels ready to be launched; `progress` hears how many are.
    fn prepare(&mut self, variants: &[Variant], progress: &mut dyn FnMut(usize)) -> Result<(), CudaError>;
    /// Launches a kernel that is ready.
    fn launch(&mut self, launch: &Launch) -> Result<(), CudaError>;
    /// An event that hasn't come.
    fn event(&mut self) -> Result<Event, CudaError>;
    /// Lets an event come when all before it is done.
    fn record(&mut self, event: Event) -> Result<(), CudaError>;
    /// Waits for an event that was recorded.
    fn wait(&mut self, event: Event) -> Result<(), CudaError>;
    /// Waits for everything.
    fn synchronize(&mut self) -> Result<(), CudaError>;
    /// From here on launches are recorded, and not done.
    fn begin_capture(&mut self) -> Result<(), CudaError>;
    /// What was recorded since then, ready to be replayed.
    fn end_capture(&mut self) -> Result<Graph, CudaError>;
    /// Launches all that a graph has recorded.
    fn replay(&mut self, graph: Graph) -> Result<(), CudaError>;
}

/// Which of the driver's events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Event(pub(super) usize);

/// Which of the driver's graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Graph(pub(super) usize);

/// Bytes of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DeviceMemory {
    pub(super) free: u64,
    pub(super) total: u64,
}

/// Memory of the host that a device may copy to and from.
pub(super) trait HostMemory: Send + std::fmt::Debug {
    fn bytes(&self) -> &[u8];
    fn bytes_mut(&mut self) -> &mut [u8];
}

/// Memory as any: of drivers whose copies are done when they return.
#[cfg(test)]
impl HostMemory for Vec<u64> {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self)
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(self)
    }
}

//! Interface to a device: memory, copies, launches, events and graphs, on one stream. CUDA's driver
//! implements it in `real`; tests have an implementation that records calls and fails on demand,
//! and one that runs kernels on the CPU.
//!
//! Invariants: the device does everything in the order of the calls; only `wait` and `synchronize`
//! block the calling thread. Memory is freed when the driver is dropped, never before, since graphs
//! hold addresses. After a sticky error every call fails.

use std::ops::Range;

use cuda_kernels::{DevicePtr, Launch, MatrixProduct, Variant};

use super::CudaError;

/// A device and its one stream. "Enqueues" means that the call returns before the work is done.
pub(super) trait Driver: Send + std::fmt::Debug {
    /// Name, compute capability and size of the device.
    fn device(&self) -> &super::DeviceInfo;
    /// Free and total memory of the device at this moment.
    fn memory(&self) -> Result<DeviceMemory, CudaError>;
    /// Allocates `bytes` of uninitialised memory, aligned for every access. `what` names its use in
    /// the error.
    fn allocate(&mut self, what: &'static str, bytes: usize) -> Result<DevicePtr, CudaError>;
    /// Allocates host memory that the device can copy to and from while the host goes on.
    fn pinned(&mut self, bytes: usize) -> Result<Box<dyn HostMemory>, CudaError>;
    /// Enqueues a copy of `part` (bytes of `from`) to `to`. `from` must stay unchanged until an
    /// event recorded after this call has come.
    fn upload(&mut self, from: &dyn HostMemory, part: Range<usize>, to: DevicePtr) -> Result<(), CudaError>;
    /// Enqueues a copy to the first `bytes` of `to`, which may be read once an event recorded after
    /// this call has come.
    fn download(&mut self, from: DevicePtr, bytes: usize, to: &mut dyn HostMemory) -> Result<(), CudaError>;
    /// Enqueues a copy within the device's memory.
    fn copy(&mut self, from: DevicePtr, bytes: usize, to: DevicePtr) -> Result<(), CudaError>;
    /// Enqueues a fill of `bytes` bytes with zeros.
    fn zero(&mut self, at: DevicePtr, bytes: usize) -> Result<(), CudaError>;
    /// Compiles (or takes from the cache) and loads kernels, so that they can be launched;
    /// `progress` is told how many are compiled.
    fn prepare(&mut self, variants: &[Variant], progress: &mut dyn FnMut(usize)) -> Result<(), CudaError>;
    /// Enqueues a launch of a kernel that `prepare` has loaded.
    fn launch(&mut self, launch: &Launch) -> Result<(), CudaError>;
    /// Enqueues a matrix product of the vendor's library. Returns whether it was enqueued: there
    /// may be no library, or none of its kernels may take these sizes.
    fn multiply(&mut self, product: &MatrixProduct) -> Result<bool, CudaError> {
        let _ = product;
        Ok(false)
    }
    /// Creates an event that hasn't come yet.
    fn event(&mut self) -> Result<Event, CudaError>;
    /// Enqueues the event: it comes when everything enqueued before this call is done.
    fn record(&mut self, event: Event) -> Result<(), CudaError>;
    /// Blocks until an event that was recorded has come.
    fn wait(&mut self, event: Event) -> Result<(), CudaError>;
    /// Blocks until everything enqueued is done.
    fn synchronize(&mut self) -> Result<(), CudaError>;
    /// Starts a capture: from here on launches are recorded into a graph instead of being done.
    fn begin_capture(&mut self) -> Result<(), CudaError>;
    /// Ends the capture and makes an executable graph of the launches recorded since
    /// `begin_capture`.
    fn end_capture(&mut self) -> Result<Graph, CudaError>;
    /// Enqueues all launches of a graph.
    fn replay(&mut self, graph: Graph) -> Result<(), CudaError>;
}

/// Index of one of the driver's events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Event(pub(super) usize);

/// Index of one of the driver's graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Graph(pub(super) usize);

/// Memory of a device, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DeviceMemory {
    pub(super) free: u64,
    pub(super) total: u64,
}

/// Host memory that a device may copy to and from.
pub(super) trait HostMemory: Send + std::fmt::Debug {
    fn bytes(&self) -> &[u8];
    fn bytes_mut(&mut self) -> &mut [u8];
}

/// Ordinary memory, for test drivers whose copies are done when the call returns.
#[cfg(test)]
impl HostMemory for Vec<u64> {
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self)
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(self)
    }
}

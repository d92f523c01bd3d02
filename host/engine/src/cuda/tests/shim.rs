//! Driver for this machine's CPU: kernels are compiled as C++ and run thread by thread (`cuda-shim`).

use std::ops::Range;

use cuda_kernels::{DevicePtr, Launch, Variant};
use cuda_shim::{Shim, ShimError};

use super::fake::gpu;
use crate::cuda::driver::{DeviceMemory, Driver, Event, Graph, HostMemory};
use crate::cuda::{CudaError, DeviceInfo};

/// Driver over a [`Shim`]; every call is done when it returns.
#[derive(Debug)]
pub(super) struct ShimDriver {
    info: DeviceInfo,
    shim: Shim,
    capturing: Option<Vec<Launch>>,
    graphs: Vec<Vec<Launch>>,
}

impl ShimDriver {
    pub(super) fn new() -> Self {
        Self { info: gpu(), shim: Shim::new(), capturing: None, graphs: Vec::new() }
    }
}

fn failed(error: &ShimError) -> CudaError {
    CudaError::Call { call: "shim", code: 719, name: error.to_string() }
}

impl Driver for ShimDriver {
    fn device(&self) -> &DeviceInfo {
        &self.info
    }

    fn memory(&self) -> Result<DeviceMemory, CudaError> {
        Ok(DeviceMemory { free: 2 << 30, total: 2 << 30 })
    }

    fn allocate(&mut self, _: &'static str, bytes: usize) -> Result<DevicePtr, CudaError> {
        self.shim.alloc(bytes).map_err(|error| failed(&error))
    }

    fn pinned(&mut self, bytes: usize) -> Result<Box<dyn HostMemory>, CudaError> {
        Ok(Box::new(vec![0u64; bytes.div_ceil(8).max(1)]))
    }

    fn upload(&mut self, from: &dyn HostMemory, part: Range<usize>, to: DevicePtr) -> Result<(), CudaError> {
        self.shim.upload(to, &from.bytes()[part]).map_err(|error| failed(&error))
    }

    fn download(&mut self, from: DevicePtr, bytes: usize, to: &mut dyn HostMemory) -> Result<(), CudaError> {
        self.shim.download(from, &mut to.bytes_mut()[..bytes]).map_err(|error| failed(&error))
    }

    fn copy(&mut self, from: DevicePtr, bytes: usize, to: DevicePtr) -> Result<(), CudaError> {
        self.shim.copy(to, from, bytes).map_err(|error| failed(&error))
    }

    fn zero(&mut self, at: DevicePtr, bytes: usize) -> Result<(), CudaError> {
        self.shim.fill(at, 0, bytes).map_err(|error| failed(&error))
    }

    fn prepare(&mut self, variants: &[Variant], progress: &mut dyn FnMut(usize)) -> Result<(), CudaError> {
        progress(variants.len());
        Ok(())
    }

    fn launch(&mut self, launch: &Launch) -> Result<(), CudaError> {
        match &mut self.capturing {
            Some(launches) => launches.push(*launch),
            None => self.shim.launch(launch).map_err(|error| failed(&error))?,
        }
        Ok(())
    }

    fn event(&mut self) -> Result<Event, CudaError> {
        Ok(Event(0))
    }

    fn record(&mut self, _: Event) -> Result<(), CudaError> {
        Ok(())
    }

    fn wait(&mut self, _: Event) -> Result<(), CudaError> {
        Ok(())
    }

    fn synchronize(&mut self) -> Result<(), CudaError> {
        Ok(())
    }

    fn begin_capture(&mut self) -> Result<(), CudaError> {
        self.capturing = Some(Vec::new());
        Ok(())
    }

    fn end_capture(&mut self) -> Result<Graph, CudaError> {
        self.graphs.extend(self.capturing.take());
        Ok(Graph(self.graphs.len() - 1))
    }

    fn replay(&mut self, graph: Graph) -> Result<(), CudaError> {
        self.graphs[graph.0]
            .iter()
            .try_for_each(|launch| self.shim.launch(launch).map_err(|error| failed(&error)))
    }
}

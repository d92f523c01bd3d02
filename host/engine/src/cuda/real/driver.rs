//! [`Driver`] on a GPU: one context, one stream, raw calls. cudarc's safe layer isn't used: it
//! tracks memory by events, which graphs can't capture.

use std::ops::Range;
use std::sync::Arc;

use cuda_kernels::{Arch, DevicePtr, Launch, MatrixProduct, Variant};
use cudarc::driver::result::{self, event, graph, stream};
use cudarc::driver::sys;

use super::calls::Called;
use super::context::Context;
use super::cublaslt::{CublasLt, WORKSPACE_BYTES};
use super::modules::Modules;
use super::nvrtc::Nvrtc;
use super::pinned::Pinned;
use crate::cuda::compile::{KernelCache, binaries};
use crate::cuda::driver::{DeviceMemory, Driver, Event, Graph, HostMemory};
use crate::cuda::{CudaError, DeviceInfo};

/// A GPU with a stream, loaded kernels, events, graphs and memory.
#[derive(Debug)]
pub(in crate::cuda) struct Gpu {
    info: DeviceInfo,
    cache: KernelCache,
    context: Arc<Context>,
    stream: sys::CUstream,
    modules: Modules,
    /// `None` where the library isn't there: own kernels do its work.
    cublaslt: Option<CublasLt>,
    events: Vec<sys::CUevent>,
    graphs: Vec<sys::CUgraphExec>,
    allocated: Vec<sys::CUdeviceptr>,
}

// SAFETY: handles of the driver, which any thread may use that has made their context its current
// one, as every call here does.
unsafe impl Send for Gpu {}

impl Gpu {
    /// Opens a GPU that the survey has found.
    pub(in crate::cuda) fn open(info: &DeviceInfo, cache: KernelCache) -> Result<Self, CudaError> {
        let context = Arc::new(Context::new(info)?);
        context.enter()?;
        let stream = stream::create(stream::StreamKind::NonBlocking).of("cuStreamCreate")?;
        let mut gpu = Self {
            info: info.clone(),
            cache,
            context,
            stream,
            modules: Modules::default(),
            cublaslt: None,
            events: Vec::new(),
            graphs: Vec::new(),
            allocated: Vec::new(),
        };
        gpu.cublaslt = gpu.open_cublaslt().inspect_err(|error| tracing::warn!("{error}")).ok();
        Ok(gpu)
    }

    fn open_cublaslt(&mut self) -> Result<CublasLt, CudaError> {
        CublasLt::find()?;
        let workspace = self.allocate("matrix products", WORKSPACE_BYTES)?;
        CublasLt::open(workspace.0)
    }

    fn arch(&self) -> Arch {
        self.info.arch()
    }
}

impl Driver for Gpu {
    fn device(&self) -> &DeviceInfo {
        &self.info
    }

    fn memory(&self) -> Result<DeviceMemory, CudaError> {
        self.context.enter()?;
        let (free, total) = result::mem_get_info().of("cuMemGetInfo")?;
        Ok(DeviceMemory { free: free as u64, total: total as u64 })
    }

    fn allocate(&mut self, what: &'static str, bytes: usize) -> Result<DevicePtr, CudaError> {
        self.context.enter()?;
        // SAFETY: whoever reads it has written it before.
        let allocated = unsafe { result::malloc_sync(bytes.max(1)) }.of("cuMemAlloc");
        let at = match allocated {
            Err(error) if error.is_out_of_memory() => {
                let DeviceMemory { free, total } = self.memory()?;
                return Err(CudaError::Memory { what, needed: bytes as u64, free, total });
            }
            other => other?,
        };
        self.allocated.push(at);
        Ok(DevicePtr(at))
    }

    fn pinned(&mut self, bytes: usize) -> Result<Box<dyn HostMemory>, CudaError> {
        Ok(Box::new(Pinned::new(&self.context, bytes)?))
    }

    // What the driver does with copies and fills of no bytes isn't documented, so they aren't
    // passed on.

    fn upload(&mut self, from: &dyn HostMemory, part: Range<usize>, to: DevicePtr) -> Result<(), CudaError> {
        if part.is_empty() {
            return Ok(());
        }
        self.context.enter()?;
        // SAFETY: the source is page-locked and stays until an event behind the copy; the target is
        // this driver's.
        unsafe { result::memcpy_htod_async(to.0, &from.bytes()[part], self.stream) }.of("cuMemcpyHtoDAsync")
    }

    fn download(&mut self, from: DevicePtr, bytes: usize, to: &mut dyn HostMemory) -> Result<(), CudaError> {
        if bytes == 0 {
            return Ok(());
        }
        self.context.enter()?;
        // SAFETY: as above, the other way round.
        unsafe { result::memcpy_dtoh_async(&mut to.bytes_mut()[..bytes], from.0, self.stream) }
            .of("cuMemcpyDtoHAsync")
    }

    fn copy(&mut self, from: DevicePtr, bytes: usize, to: DevicePtr) -> Result<(), CudaError> {
        if bytes == 0 {
            return Ok(());
        }
        self.context.enter()?;
        // SAFETY: both are this driver's.
        unsafe { result::memcpy_dtod_async(to.0, from.0, bytes, self.stream) }.of("cuMemcpyDtoDAsync")
    }

    fn zero(&mut self, at: DevicePtr, bytes: usize) -> Result<(), CudaError> {
        if bytes == 0 {
            return Ok(());
        }
        self.context.enter()?;
        // SAFETY: it is this driver's.
        unsafe { result::memset_d8_async(at.0, 0, bytes, self.stream) }.of("cuMemsetD8Async")
    }

    fn prepare(&mut self, variants: &[Variant], progress: &mut dyn FnMut(usize)) -> Result<(), CudaError> {
        let new: Vec<Variant> = variants.iter().filter(|one| !self.modules.has(one)).copied().collect();
        if new.is_empty() {
            return Ok(());
        }
        let binaries = binaries(&Nvrtc::find(), &self.cache, &new, self.arch(), progress)?;
        self.context.enter()?;
        new.iter().zip(&binaries).try_for_each(|(variant, binary)| self.modules.load(variant, binary))
    }

    fn launch(&mut self, launch: &Launch) -> Result<(), CudaError> {
        self.context.enter()?;
        // Older devices have no dependent launches.
        let overlaps = launch.overlaps && self.info.compute >= (9, 0);
        self.modules.launch(launch, overlaps, self.stream)
    }

    fn multiply(&mut self, product: &MatrixProduct) -> Result<bool, CudaError> {
        self.context.enter()?;
        Ok(self.cublaslt.as_mut().is_some_and(|library| library.multiply(product, self.stream.cast())))
    }

    fn event(&mut self) -> Result<Event, CudaError> {
        self.context.enter()?;
        let event = event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING).of("cuEventCreate")?;
        self.events.push(event);
        Ok(Event(self.events.len() - 1))
    }

    fn record(&mut self, event: Event) -> Result<(), CudaError> {
        self.context.enter()?;
        // SAFETY: the event is this driver's.
        unsafe { event::record(self.events[event.0], self.stream) }.of("cuEventRecord")
    }

    fn wait(&mut self, event: Event) -> Result<(), CudaError> {
        self.context.enter()?;
        // SAFETY: as above.
        unsafe { event::synchronize(self.events[event.0]) }.of("cuEventSynchronize")
    }

    fn synchronize(&mut self) -> Result<(), CudaError> {
        self.context.enter()?;
        // SAFETY: the stream is this driver's.
        unsafe { stream::synchronize(self.stream) }.of("cuStreamSynchronize")
    }

    fn begin_capture(&mut self) -> Result<(), CudaError> {
        self.context.enter()?;
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: as above.
        unsafe { stream::begin_capture(self.stream, mode) }.of("cuStreamBeginCapture")
    }

    fn end_capture(&mut self) -> Result<Graph, CudaError> {
        self.context.enter()?;
        // SAFETY: the stream was capturing.
        let captured = unsafe { stream::end_capture(self.stream) }.of("cuStreamEndCapture")?;
        // SAFETY: it was just captured.
        let ready = unsafe { graph::instantiate(captured, sys::CUgraphInstantiate_flags(0)) };
        // SAFETY: what is instantiated is a copy.
        unsafe { graph::destroy(captured) }.of("cuGraphDestroy")?;
        self.graphs.push(ready.of("cuGraphInstantiate")?);
        Ok(Graph(self.graphs.len() - 1))
    }

    fn replay(&mut self, graph: Graph) -> Result<(), CudaError> {
        self.context.enter()?;
        // SAFETY: graph and stream are this driver's.
        unsafe { graph::launch(self.graphs[graph.0], self.stream) }.of("cuGraphLaunch")
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        let _ = self.synchronize();
        // SAFETY: all of it is this driver's, and nothing runs any more.
        unsafe {
            for graph in &self.graphs {
                let _ = graph::exec_destroy(*graph);
            }
            self.cublaslt = None;
            for event in &self.events {
                let _ = event::destroy(*event);
            }
            for memory in &self.allocated {
                let _ = result::free_sync(*memory);
            }
            let _ = stream::destroy(self.stream);
        }
    }
}

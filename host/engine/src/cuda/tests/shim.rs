//! Driver for this machine's CPU: kernels are compiled as C++ and run thread by thread
//! (`cuda-shim`). It may have a library of matrix products, which is a loop.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cuda_kernels::{DevicePtr, Launch, MatrixProduct, ProductStore, Variant};
use cuda_shim::{Shim, ShimError};
use half::bf16;
use ops::reference;

use super::fake::gpu;
use crate::cuda::driver::{DeviceMemory, Driver, Event, Graph, HostMemory};
use crate::cuda::{CudaError, DeviceInfo};

/// Driver over a [`Shim`]; every call is done when it returns. As on a GPU, only kernels that were
/// prepared are launched.
#[derive(Debug)]
pub(super) struct ShimDriver {
    info: DeviceInfo,
    shim: Shim,
    /// Number of products that the library computed or recorded; `None`: there is no library.
    products: Option<Arc<AtomicUsize>>,
    prepared: HashSet<Variant>,
    capturing: Option<Vec<Enqueued>>,
    graphs: Vec<Vec<Enqueued>>,
}

/// Work of a stream or of a graph.
#[derive(Debug)]
enum Enqueued {
    Launch(Box<Launch>),
    Product(MatrixProduct),
}

impl ShimDriver {
    pub(super) fn new() -> Self {
        Self {
            info: gpu(),
            shim: Shim::new(),
            products: None,
            prepared: HashSet::new(),
            capturing: None,
            graphs: Vec::new(),
        }
    }

    /// A driver with a library of matrix products, which counts its products.
    pub(super) fn with_library(products: Arc<AtomicUsize>) -> Self {
        Self { products: Some(products), ..Self::new() }
    }

    fn enqueue(&mut self, work: Enqueued) -> Result<(), CudaError> {
        match &mut self.capturing {
            Some(graph) => graph.push(work),
            None => self.run(&work).map_err(|error| failed(&error))?,
        }
        Ok(())
    }

    fn run(&self, work: &Enqueued) -> Result<(), ShimError> {
        match work {
            Enqueued::Launch(launch) => self.shim.launch(launch),
            Enqueued::Product(product) => self.multiply_now(product),
        }
    }

    fn multiply_now(&self, product: &MatrixProduct) -> Result<(), ShimError> {
        let MatrixProduct { x, weight, out, store, rows, outputs, inputs } = *product;
        let [rows, outputs, inputs] = [rows, outputs, inputs].map(|size| size as usize);
        let (x, weight) = (self.read_bf16(x, rows * inputs)?, self.read_bf16(weight, outputs * inputs)?);
        let mut sums = reference::linear(&x, &weight, None, inputs);
        if store == ProductStore::Bf16 {
            let sums: Vec<bf16> = sums.into_iter().map(bf16::from_f64).collect();
            return self.shim.upload(out, bytemuck::cast_slice::<bf16, u8>(&sums));
        }
        if store == ProductStore::AddF32 {
            let mut before = vec![0f32; sums.len()];
            self.shim.download(out, &mut before)?;
            sums.iter_mut().zip(before).for_each(|(sum, before)| *sum += f64::from(before));
        }
        #[expect(clippy::cast_possible_truncation, reason = "rounding")]
        let sums: Vec<f32> = sums.into_iter().map(|sum| sum as f32).collect();
        self.shim.upload(out, &sums)
    }

    fn read_bf16(&self, at: DevicePtr, count: usize) -> Result<Vec<f32>, ShimError> {
        let mut values = vec![bf16::ZERO; count];
        self.shim.download(at, bytemuck::cast_slice_mut::<bf16, u8>(&mut values))?;
        Ok(values.into_iter().map(bf16::to_f32).collect())
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
        self.prepared.extend(variants);
        progress(variants.len());
        Ok(())
    }

    fn launch(&mut self, launch: &Launch) -> Result<(), CudaError> {
        if !self.prepared.contains(&launch.kernel.variant()) {
            return Err(CudaError::unprepared(launch));
        }
        self.enqueue(Enqueued::Launch(Box::new(*launch)))
    }

    fn multiply(&mut self, product: &MatrixProduct) -> Result<bool, CudaError> {
        let Some(products) = &self.products else { return Ok(false) };
        products.fetch_add(1, Ordering::Relaxed);
        self.enqueue(Enqueued::Product(*product))?;
        Ok(true)
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
        self.graphs[graph.0].iter().try_for_each(|work| self.run(work)).map_err(|error| failed(&error))
    }
}

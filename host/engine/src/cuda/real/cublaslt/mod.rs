//! cuBLASLt as the library of matrix products: chooses a kernel for each size once, and enqueues
//! it.
//!
//! Invariants: no call but one that enqueues is made while a stream is captured, if the same size
//! was multiplied before. No kernel divides the inner dimension among blocks: such kernels were
//! seen to drop its end, and they add in an order of their own. What the library refuses is
//! computed by own kernels: a refusal is no error.

mod descriptors;
mod functions;

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr::null_mut;

use cuda_kernels::{MatrixProduct, ProductStore};
use cudarc::cublaslt::sys::{
    cublasLtHandle_t, cublasLtMatmulAlgo_t, cublasLtMatmulHeuristicResult_t, cublasStatus_t, cudaStream_t,
};

use self::descriptors::{Descriptors, Preference};
use self::functions::Functions;
use crate::cuda::{CudaError, CudaVersion};

/// Bytes of device memory that kernels may use beside their matrices: what NVIDIA recommends for
/// Hopper.
pub(super) const WORKSPACE_BYTES: usize = 32 << 20;

/// The library on one device.
#[derive(Debug)]
pub(super) struct CublasLt {
    functions: &'static Functions,
    handle: cublasLtHandle_t,
    /// Device memory of [`WORKSPACE_BYTES`].
    workspace: u64,
    /// Whether a call has failed: then own kernels do its work. The handle stays, since graphs may
    /// hold its kernels.
    has_failed: bool,
    /// Kernel chosen for each size; `None` where the library has none.
    plans: HashMap<Sizes, Option<Plan>>,
}

// SAFETY: the handle may be used by any thread, one at a time.
unsafe impl Send for CublasLt {}

/// What a kernel is chosen by: rows, outputs, inputs, and what is done with the sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Sizes(u32, u32, u32, ProductStore);

/// Descriptors of a product, and the kernel chosen for it.
#[derive(Debug)]
struct Plan {
    descriptors: Descriptors,
    algorithm: cublasLtMatmulAlgo_t,
}

impl CublasLt {
    /// Opens the library on the device of the current context. [`Self::find`] must have found it.
    pub(super) fn open(workspace: u64) -> Result<Self, CudaError> {
        let functions = Functions::find().ok_or(CudaError::NoCublasLt)?;
        let mut handle = null_mut();
        // SAFETY: it writes a handle.
        checked("cublasLtCreate", unsafe { (functions.create)(&raw mut handle) })?;
        Ok(Self { functions, handle, workspace, has_failed: false, plans: HashMap::new() })
    }

    /// Enqueues a product on a stream. Returns false where the library has no kernel for these
    /// sizes, or has failed once: what fails before a kernel runs can be done without it, and
    /// faults of kernels show at the next call of the driver.
    pub(super) fn multiply(&mut self, product: &MatrixProduct, stream: cudaStream_t) -> bool {
        if self.has_failed {
            return false;
        }
        self.enqueue(product, stream).unwrap_or_else(|error| {
            tracing::warn!("own kernels compute prompts from now on, which takes longer: {error}");
            self.has_failed = true;
            false
        })
    }

    fn enqueue(&mut self, product: &MatrixProduct, stream: cudaStream_t) -> Result<bool, CudaError> {
        let MatrixProduct { x, weight, out, store, rows, outputs, inputs } = *product;
        let sizes = Sizes(rows, outputs, inputs, store);
        if !self.plans.contains_key(&sizes) {
            let plan = self.plan(product)?;
            self.plans.insert(sizes, plan);
        }
        let Some(Plan { descriptors, algorithm }) = &self.plans[&sizes] else { return Ok(false) };
        let (factor, kept) = (1f32, if store == ProductStore::AddF32 { 1f32 } else { 0f32 });
        // SAFETY: descriptors and algorithm belong to these sizes; the addresses are of matrices of
        // these sizes that live as long as the driver, and the factors are read before the call
        // returns.
        let enqueued = unsafe {
            (self.functions.matmul)(
                self.handle,
                descriptors.product,
                (&raw const factor).cast(),
                address(weight.0),
                descriptors.weight,
                address(x.0),
                descriptors.x,
                (&raw const kept).cast(),
                address(out.0),
                descriptors.out,
                address(out.0).cast_mut(),
                descriptors.out,
                algorithm,
                address(self.workspace).cast_mut(),
                WORKSPACE_BYTES,
                stream,
            )
        };
        checked("cublasLtMatmul", enqueued).map(|()| true)
    }

    /// Chooses a kernel; `None` where the library has none.
    fn plan(&self, product: &MatrixProduct) -> Result<Option<Plan>, CudaError> {
        let descriptors = Descriptors::new(self.functions, product)?;
        let preference = Preference::new(self.functions)?;
        let Descriptors { product, weight, x, out, .. } = descriptors;
        let (mut found, mut count) = (no_result(), 0);
        // SAFETY: all of them live until the end of this function; it writes one result at most,
        // and the number of results.
        let status = unsafe {
            (self.functions.heuristic)(
                self.handle,
                product,
                weight,
                x,
                out,
                out,
                preference.preference,
                1,
                &raw mut found,
                &raw mut count,
            )
        };
        let is_lacking = status == cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED
            || status == cublasStatus_t::CUBLAS_STATUS_SUCCESS && count == 0;
        if is_lacking {
            return Ok(None);
        }
        checked("cublasLtMatmulAlgoGetHeuristic", status)?;
        checked("cublasLtMatmulAlgoGetHeuristic", found.state)?;
        Ok(Some(Plan { descriptors, algorithm: found.algo }))
    }
}

impl Drop for CublasLt {
    fn drop(&mut self) {
        // SAFETY: the handle is this value's.
        let _ = unsafe { (self.functions.destroy)(self.handle) };
    }
}

/// Version of the library; `None` where it can't be loaded.
pub(super) fn version() -> Option<CudaVersion> {
    // SAFETY: it only returns a number: 130002 is 13.0.2.
    let number = unsafe { (Functions::find()?.version)() };
    let part = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Some(CudaVersion::new(part(number / 10_000), part(number / 100 % 100)))
}

/// An address of device memory as the library takes it.
fn address(device: u64) -> *const c_void {
    device as *const c_void
}

/// Error of a call that didn't succeed.
fn checked(call: &'static str, status: cublasStatus_t) -> Result<(), CudaError> {
    match status {
        cublasStatus_t::CUBLAS_STATUS_SUCCESS => Ok(()),
        failed => Err(CudaError::Call { call, code: failed as u32, name: format!("{failed:?}") }),
    }
}

/// A result of the heuristic before it is written.
fn no_result() -> cublasLtMatmulHeuristicResult_t {
    cublasLtMatmulHeuristicResult_t {
        algo: cublasLtMatmulAlgo_t { data: [0; 8] },
        workspaceSize: 0,
        state: cublasStatus_t::CUBLAS_STATUS_SUCCESS,
        wavesCount: 0.0,
        reserved: [0; 4],
    }
}

#[cfg(test)]
mod tests {
    use cuda_kernels::DevicePtr;

    use super::*;

    /// Without a GPU the library, where it is, still makes descriptors and checks their attributes.
    #[test]
    fn the_library_takes_the_descriptors_of_every_store() {
        if CublasLt::find().is_err() {
            return;
        }
        for store in [ProductStore::Bf16, ProductStore::F32, ProductStore::AddF32] {
            let at = DevicePtr(256);
            let product =
                MatrixProduct { x: at, weight: at, out: at, store, rows: 17, outputs: 32, inputs: 24 };
            let functions = Functions::find().unwrap();
            Descriptors::new(functions, &product).unwrap();
            Preference::new(functions).unwrap();
        }
    }
}

//! cuBLASLt as the library of matrix products: chooses a kernel for each size once, and enqueues it.
//!
//! Invariants: no call but one that enqueues is made while a stream is captured, if the same size was multiplied before. No kernel
//! divides the inner dimension among blocks: such kernels were seen to drop its end, and they add in an order of their own.
//! What the library refuses is computed by own kernels: a refusal is no error.

use std::collections::HashMap;
use std::ffi::c_void;

use cuda_kernels::{MatrixProduct, ProductStore};
use cudarc::cublaslt::result::{self, CublasError};
use cudarc::cublaslt::sys::{
    self, cublasComputeType_t, cublasLtMatmulAlgo_t, cublasLtMatmulDescAttributes_t,
    cublasLtMatmulPreferenceAttributes_t as Preferred, cublasLtReductionScheme_t, cublasStatus_t,
    cudaDataType_t,
};

use super::Machine;
use crate::cuda::platform::{self, Platform};
use crate::cuda::{CudaError, CudaVersion};

/// Bytes of device memory that kernels may use beside their matrices: what NVIDIA recommends for Hopper.
pub(super) const WORKSPACE_BYTES: usize = 32 << 20;

/// `CUBLAS_OP_T`: a matrix is transposed before it is multiplied.
const TRANSPOSED: u32 = 1;

/// Bytes that all matrices are aligned to.
const ALIGNMENT: u32 = 16;

/// The library on one device.
#[derive(Debug)]
pub(super) struct CublasLt {
    handle: sys::cublasLtHandle_t,
    /// Device memory of [`WORKSPACE_BYTES`].
    workspace: u64,
    /// Whether a call has failed: then own kernels do its work. The handle stays, since graphs may hold its kernels.
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
    /// Version of the library on this machine, or the reason why it can't be used.
    pub(super) fn find() -> Result<CudaVersion, CudaError> {
        platform::cublaslt(&Machine as &dyn Platform)
    }

    /// Opens the library on the device of the current context. [`Self::find`] must have found it.
    pub(super) fn open(workspace: u64) -> Result<Self, CudaError> {
        let handle = result::create_handle().map_err(|error| failed("cublasLtCreate", error))?;
        Ok(Self { handle, workspace, has_failed: false, plans: HashMap::new() })
    }

    /// Enqueues a product on a stream. Returns false where the library has no kernel for these sizes, or has failed once: what fails
    /// before a kernel runs can be done without it, and faults of kernels show at the next call of the driver.
    pub(super) fn multiply(&mut self, product: &MatrixProduct, stream: sys::cudaStream_t) -> bool {
        if self.has_failed {
            return false;
        }
        self.enqueue(product, stream).unwrap_or_else(|error| {
            tracing::warn!("own kernels compute prompts from now on, which takes longer: {error}");
            self.has_failed = true;
            false
        })
    }

    fn enqueue(&mut self, product: &MatrixProduct, stream: sys::cudaStream_t) -> Result<bool, CudaError> {
        let MatrixProduct { x, weight, out, store, rows, outputs, inputs } = *product;
        let sizes = Sizes(rows, outputs, inputs, store);
        if !self.plans.contains_key(&sizes) {
            let plan = self.plan(product)?;
            self.plans.insert(sizes, plan);
        }
        let Some(Plan { descriptors, algorithm }) = &self.plans[&sizes] else { return Ok(false) };
        let (factor, kept) = (1f32, if store == ProductStore::AddF32 { 1f32 } else { 0f32 });
        // SAFETY: descriptors and algorithm belong to these sizes; the addresses are of matrices of these sizes that live as long as the
        // driver, and the factors are read before the call returns.
        let enqueued = unsafe {
            result::matmul(
                self.handle,
                descriptors.product,
                (&raw const factor).cast(),
                (&raw const kept).cast(),
                address(weight.0),
                descriptors.weight,
                address(x.0),
                descriptors.x,
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
        enqueued.map_err(|error| failed("cublasLtMatmul", error)).map(|()| true)
    }

    /// Chooses a kernel; `None` where the library has none.
    fn plan(&self, product: &MatrixProduct) -> Result<Option<Plan>, CudaError> {
        let descriptors = Descriptors::new(product)?;
        let preference = Preference::new()?;
        let Descriptors { product, weight, x, out } = descriptors;
        // SAFETY: all of them live until the end of this function.
        let found = unsafe {
            result::get_matmul_algo_heuristic(self.handle, product, weight, x, out, out, preference.0)
        };
        match found {
            Ok(found) => Ok(Some(Plan { descriptors, algorithm: found.algo })),
            Err(CublasError(cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED)) => Ok(None),
            Err(error) => Err(failed("cublasLtMatmulAlgoGetHeuristic", error)),
        }
    }
}

impl Drop for CublasLt {
    fn drop(&mut self) {
        // SAFETY: the handle is this value's.
        let _ = unsafe { result::destroy_handle(self.handle) };
    }
}

/// The library's descriptors of a product and of its matrices, destroyed when they are dropped.
///
/// The library's matrices have their columns one behind the other, so it sees each of ours transposed: `outᵀ = weight · xᵀ`.
#[derive(Debug)]
struct Descriptors {
    product: sys::cublasLtMatmulDesc_t,
    weight: sys::cublasLtMatrixLayout_t,
    x: sys::cublasLtMatrixLayout_t,
    out: sys::cublasLtMatrixLayout_t,
}

impl Descriptors {
    fn new(of: &MatrixProduct) -> Result<Self, CudaError> {
        let MatrixProduct { rows, outputs, inputs, store, .. } = *of;
        let out_type = match store {
            ProductStore::Bf16 => cudaDataType_t::CUDA_R_16BF,
            ProductStore::F32 | ProductStore::AddF32 => cudaDataType_t::CUDA_R_32F,
        };
        let bf16 = cudaDataType_t::CUDA_R_16BF;
        let null = Self {
            product: std::ptr::null_mut(),
            weight: std::ptr::null_mut(),
            x: std::ptr::null_mut(),
            out: std::ptr::null_mut(),
        };
        let mut new = null;
        let compute = cublasComputeType_t::CUBLAS_COMPUTE_32F;
        new.product = result::create_matmul_desc(compute, cudaDataType_t::CUDA_R_32F)
            .map_err(|error| failed("cublasLtMatmulDescCreate", error))?;
        new.weight = layout(bf16, inputs, outputs)?;
        new.x = layout(bf16, inputs, rows)?;
        new.out = layout(out_type, outputs, rows)?;
        let attribute = cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_TRANSA;
        // SAFETY: the descriptor was just made, and the value has the attribute's type.
        unsafe {
            result::set_matmul_desc_attribute(new.product, attribute, bytes(&TRANSPOSED), size(&TRANSPOSED))
        }
        .map_err(|error| failed("cublasLtMatmulDescSetAttribute", error))?;
        Ok(new)
    }
}

impl Drop for Descriptors {
    fn drop(&mut self) {
        // SAFETY: what isn't null was made by the library, and nobody uses it any more.
        unsafe {
            if !self.product.is_null() {
                let _ = result::destroy_matmul_desc(self.product);
            }
            for layout in [self.weight, self.x, self.out].into_iter().filter(|layout| !layout.is_null()) {
                let _ = result::destroy_matrix_layout(layout);
            }
        }
    }
}

/// Layout of a matrix of which `cols` columns of `rows` numbers lie one behind the other.
fn layout(kind: cudaDataType_t, rows: u32, cols: u32) -> Result<sys::cublasLtMatrixLayout_t, CudaError> {
    result::create_matrix_layout(kind, rows.into(), cols.into(), rows.into())
        .map_err(|error| failed("cublasLtMatrixLayoutCreate", error))
}

/// What a kernel must be like, destroyed when it is dropped.
struct Preference(sys::cublasLtMatmulPreference_t);

impl Preference {
    fn new() -> Result<Self, CudaError> {
        let new =
            result::create_matmul_pref().map_err(|error| failed("cublasLtMatmulPreferenceCreate", error))?;
        let new = Self(new);
        new.set(Preferred::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &(WORKSPACE_BYTES as u64))?;
        let undivided = cublasLtReductionScheme_t::CUBLASLT_REDUCTION_SCHEME_NONE as u32;
        new.set(Preferred::CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &undivided)?;
        for matrix in [
            Preferred::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
            Preferred::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
            Preferred::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
            Preferred::CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
        ] {
            new.set(matrix, &ALIGNMENT)?;
        }
        Ok(new)
    }

    /// Sets an attribute; `value` has the attribute's type.
    fn set<T: bytemuck::NoUninit>(&self, attribute: Preferred, value: &T) -> Result<(), CudaError> {
        // SAFETY: the preference lives, and the value is read before the call returns.
        unsafe { result::set_matmul_pref_attribute(self.0, attribute, bytes(value), size(value)) }
            .map_err(|error| failed("cublasLtMatmulPreferenceSetAttribute", error))
    }
}

impl Drop for Preference {
    fn drop(&mut self) {
        // SAFETY: it was made by the library, and nobody uses it any more.
        let _ = unsafe { result::destroy_matmul_pref(self.0) };
    }
}

fn bytes<T>(value: &T) -> *const c_void {
    std::ptr::from_ref(value).cast()
}

fn size<T>(_: &T) -> usize {
    size_of::<T>()
}

/// An address of device memory as the library takes it.
fn address(device: u64) -> *const c_void {
    device as *const c_void
}

fn failed(call: &'static str, CublasError(status): CublasError) -> CudaError {
    CudaError::Call { call, code: status as u32, name: format!("{status:?}") }
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
            Descriptors::new(&product).unwrap();
            Preference::new().unwrap();
        }
    }
}

//! Descriptors of a product, and what is asked of its kernel.

use std::ffi::c_void;
use std::ptr::null_mut;

use cuda_kernels::{MatrixProduct, ProductStore};
use cudarc::cublaslt::sys::{
    cublasComputeType_t, cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, cublasLtMatmulPreference_t,
    cublasLtMatmulPreferenceAttributes_t as Preferred, cublasLtMatrixLayout_t, cublasLtReductionScheme_t,
    cudaDataType_t,
};

use super::functions::Functions;
use super::{WORKSPACE_BYTES, checked};
use crate::cuda::CudaError;

/// `CUBLAS_OP_T`: a matrix is transposed before it is multiplied.
const TRANSPOSED: u32 = 1;

/// Bytes that all matrices are aligned to.
const ALIGNMENT: u32 = 16;

/// The library's descriptors of a product and of its matrices, destroyed when they are dropped.
///
/// The library's matrices have their columns one behind the other, so it sees each of ours
/// transposed: `outᵀ = weight · xᵀ`.
#[derive(Debug)]
pub(super) struct Descriptors {
    functions: &'static Functions,
    pub(super) product: cublasLtMatmulDesc_t,
    pub(super) weight: cublasLtMatrixLayout_t,
    pub(super) x: cublasLtMatrixLayout_t,
    pub(super) out: cublasLtMatrixLayout_t,
}

impl Descriptors {
    pub(super) fn new(functions: &'static Functions, of: &MatrixProduct) -> Result<Self, CudaError> {
        let MatrixProduct { rows, outputs, inputs, store, .. } = *of;
        let out_type = match store {
            ProductStore::Bf16 => cudaDataType_t::CUDA_R_16BF,
            ProductStore::F32 | ProductStore::AddF32 => cudaDataType_t::CUDA_R_32F,
        };
        let (bf16, f32) = (cudaDataType_t::CUDA_R_16BF, cudaDataType_t::CUDA_R_32F);
        let (product, layout) = (null_mut(), null_mut());
        let mut new = Self { functions, product, weight: layout, x: layout, out: layout };
        let compute = cublasComputeType_t::CUBLAS_COMPUTE_32F;
        // SAFETY: it writes a descriptor.
        let made = unsafe { (functions.create_product)(&raw mut new.product, compute, f32) };
        checked("cublasLtMatmulDescCreate", made)?;
        new.weight = layout_of(functions, bf16, inputs, outputs)?;
        new.x = layout_of(functions, bf16, inputs, rows)?;
        new.out = layout_of(functions, out_type, outputs, rows)?;
        let attribute = cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_TRANSA;
        // SAFETY: the descriptor was just made, and the value has the attribute's type.
        let set = unsafe {
            (functions.set_product)(new.product, attribute, bytes(&TRANSPOSED), size_of_val(&TRANSPOSED))
        };
        checked("cublasLtMatmulDescSetAttribute", set)?;
        Ok(new)
    }
}

impl Drop for Descriptors {
    fn drop(&mut self) {
        // SAFETY: what isn't null was made by the library, and nobody uses it any more.
        unsafe {
            if !self.product.is_null() {
                let _ = (self.functions.destroy_product)(self.product);
            }
            for layout in [self.weight, self.x, self.out].into_iter().filter(|layout| !layout.is_null()) {
                let _ = (self.functions.destroy_layout)(layout);
            }
        }
    }
}

/// Layout of a matrix of which `cols` columns of `rows` numbers lie one behind the other.
fn layout_of(
    functions: &Functions,
    kind: cudaDataType_t,
    rows: u32,
    cols: u32,
) -> Result<cublasLtMatrixLayout_t, CudaError> {
    let mut layout = null_mut();
    // SAFETY: it writes a layout.
    let made =
        unsafe { (functions.create_layout)(&raw mut layout, kind, rows.into(), cols.into(), rows.into()) };
    checked("cublasLtMatrixLayoutCreate", made).map(|()| layout)
}

/// What a kernel must be like, destroyed when it is dropped.
pub(super) struct Preference {
    functions: &'static Functions,
    pub(super) preference: cublasLtMatmulPreference_t,
}

impl Preference {
    pub(super) fn new(functions: &'static Functions) -> Result<Self, CudaError> {
        let mut preference = null_mut();
        // SAFETY: it writes a preference.
        let made = unsafe { (functions.create_preference)(&raw mut preference) };
        checked("cublasLtMatmulPreferenceCreate", made)?;
        let new = Self { functions, preference };
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
        let Self { functions, preference } = *self;
        // SAFETY: the preference lives, and the value is read before the call returns.
        let set =
            unsafe { (functions.set_preference)(preference, attribute, bytes(value), size_of_val(value)) };
        checked("cublasLtMatmulPreferenceSetAttribute", set)
    }
}

impl Drop for Preference {
    fn drop(&mut self) {
        // SAFETY: it was made by the library, and nobody uses it any more.
        let _ = unsafe { (self.functions.destroy_preference)(self.preference) };
    }
}

fn bytes<T>(value: &T) -> *const c_void {
    std::ptr::from_ref(value).cast()
}

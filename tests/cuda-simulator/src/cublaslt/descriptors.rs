//! Descriptors of products and matrices, and preferences.
#![expect(unsafe_code, reason = "C functions")]

use std::ffi::c_void;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use cudarc::cublaslt::sys::{
    cublasComputeType_t, cublasLtMatmulDesc_t, cublasLtMatmulDescAttributes_t, cublasLtMatmulPreference_t,
    cublasLtMatmulPreferenceAttributes_t, cublasLtMatrixLayout_t, cublasStatus_t, cudaDataType,
    cudaDataType_t,
};

use crate::handles::Handles;
use crate::outcome::wrong;

/// All objects of the library.
#[derive(Debug, Default)]
pub(crate) struct Library {
    pub(super) handles: Handles<()>,
    /// Descriptors of products: whether A is transposed.
    pub(super) products: Handles<bool>,
    pub(super) layouts: Handles<Layout>,
    pub(super) preferences: Handles<()>,
}

/// Layout of a matrix whose columns lie one behind the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(super) kind: cudaDataType,
    pub(super) rows: u64,
    pub(super) cols: u64,
    /// Numbers from one column's begin to the next one's.
    pub(super) stride: u64,
}

pub(super) fn library() -> MutexGuard<'static, Library> {
    static LIBRARY: LazyLock<Mutex<Library>> = LazyLock::new(Mutex::default);
    LIBRARY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Number of handles, descriptors and preferences that weren't destroyed.
pub(crate) fn objects() -> usize {
    let Library { handles, products, layouts, preferences } = &*library();
    handles.len() + products.len() + layouts.len() + preferences.len()
}

pub(super) fn status(result: Result<(), cublasStatus_t>) -> cublasStatus_t {
    result.err().unwrap_or(cublasStatus_t::CUBLAS_STATUS_SUCCESS)
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasLtMatmulDescCreate(
    product: *mut cublasLtMatmulDesc_t,
    compute: cublasComputeType_t,
    scale: cudaDataType_t,
) -> cublasStatus_t {
    if compute != cublasComputeType_t::CUBLAS_COMPUTE_32F || scale != cudaDataType_t::CUDA_R_32F {
        let reason = format!("{compute:?} and {scale:?} aren't simulated");
        return wrong("cublasLtMatmulDescCreate", cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED, reason);
    }
    // SAFETY: the caller has room for a descriptor.
    unsafe { *product = library().products.add(false) };
    cublasStatus_t::CUBLAS_STATUS_SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasLtMatmulDescDestroy(product: cublasLtMatmulDesc_t) -> cublasStatus_t {
    removed("cublasLtMatmulDescDestroy", library().products.remove(product))
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasLtMatmulDescSetAttribute(
    product: cublasLtMatmulDesc_t,
    attribute: cublasLtMatmulDescAttributes_t,
    value: *const c_void,
    bytes: usize,
) -> cublasStatus_t {
    use cublasLtMatmulDescAttributes_t::{CUBLASLT_MATMUL_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSB};
    const NAME: &str = "cublasLtMatmulDescSetAttribute";
    status((|| {
        // SAFETY: the caller says that the value has so many bytes.
        let value = unsafe { number(NAME, value, bytes, 4)? };
        let mut library = library();
        let product = library.products.get_mut(product).ok_or_else(|| unknown(NAME))?;
        match (attribute, value) {
            (CUBLASLT_MATMUL_DESC_TRANSA, 0 | 1) => *product = value == 1,
            (CUBLASLT_MATMUL_DESC_TRANSB, 0) => {}
            _ => {
                let reason = format!("{attribute:?} = {value} isn't simulated");
                return Err(wrong(NAME, cublasStatus_t::CUBLAS_STATUS_INVALID_VALUE, reason));
            }
        }
        Ok(())
    })())
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasLtMatrixLayoutCreate(
    layout: *mut cublasLtMatrixLayout_t,
    kind: cudaDataType,
    rows: u64,
    cols: u64,
    stride: i64,
) -> cublasStatus_t {
    let stride = u64::try_from(stride).unwrap_or_default();
    if rows == 0 || cols == 0 || stride < rows {
        let reason = format!("{rows} rows, {cols} columns, {stride} from one to the next");
        return wrong("cublasLtMatrixLayoutCreate", cublasStatus_t::CUBLAS_STATUS_INVALID_VALUE, reason);
    }
    // SAFETY: the caller has room for a layout.
    unsafe { *layout = library().layouts.add(Layout { kind, rows, cols, stride }) };
    cublasStatus_t::CUBLAS_STATUS_SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasLtMatrixLayoutDestroy(
    layout: cublasLtMatrixLayout_t,
) -> cublasStatus_t {
    removed("cublasLtMatrixLayoutDestroy", library().layouts.remove(layout))
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasLtMatmulPreferenceCreate(
    preference: *mut cublasLtMatmulPreference_t,
) -> cublasStatus_t {
    // SAFETY: the caller has room for a preference.
    unsafe { *preference = library().preferences.add(()) };
    cublasStatus_t::CUBLAS_STATUS_SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasLtMatmulPreferenceDestroy(
    preference: cublasLtMatmulPreference_t,
) -> cublasStatus_t {
    removed("cublasLtMatmulPreferenceDestroy", library().preferences.remove(preference))
}

/// Checks an attribute's size; the kernels here satisfy every preference.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasLtMatmulPreferenceSetAttribute(
    preference: cublasLtMatmulPreference_t,
    attribute: cublasLtMatmulPreferenceAttributes_t,
    value: *const c_void,
    bytes: usize,
) -> cublasStatus_t {
    use cublasLtMatmulPreferenceAttributes_t::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
    const NAME: &str = "cublasLtMatmulPreferenceSetAttribute";
    status((|| {
        let size = if attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES { 8 } else { 4 };
        // SAFETY: the caller says that the value has so many bytes.
        unsafe { number(NAME, value, bytes, size)? };
        library().preferences.get(preference).copied().ok_or_else(|| unknown(NAME))
    })())
}

/// An attribute's value, which must have `size` bytes.
///
/// # Safety
/// There are `bytes` bytes at `value`.
unsafe fn number(name: &str, value: *const c_void, bytes: usize, size: usize) -> Result<u64, cublasStatus_t> {
    if value.is_null() || bytes != size {
        let reason = format!("a value of {bytes} bytes; the attribute has {size}");
        return Err(wrong(name, cublasStatus_t::CUBLAS_STATUS_INVALID_VALUE, reason));
    }
    let mut slot = [0u8; 8];
    // SAFETY: the caller says so, and no attribute has more than eight bytes.
    unsafe { slot.as_mut_ptr().copy_from_nonoverlapping(value.cast(), size) };
    Ok(u64::from_ne_bytes(slot))
}

fn unknown(name: &str) -> cublasStatus_t {
    wrong(name, cublasStatus_t::CUBLAS_STATUS_INVALID_VALUE, "no such object")
}

fn removed<T>(name: &str, object: Option<T>) -> cublasStatus_t {
    match object.map(drop) {
        Some(()) => cublasStatus_t::CUBLAS_STATUS_SUCCESS,
        None => unknown(name),
    }
}

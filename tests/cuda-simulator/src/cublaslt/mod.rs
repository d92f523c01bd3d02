//! cuBLASLt's functions: descriptors of products, the choice of a kernel, and products, which are
//! enqueued.
#![expect(unsafe_code, reason = "C functions")]

pub(crate) mod descriptors;
pub(crate) mod product;

use std::ffi::{c_int, c_void};

use cudarc::cublaslt::sys::{
    cublasLtHandle_t, cublasLtMatmulAlgo_t, cublasLtMatmulDesc_t, cublasLtMatmulHeuristicResult_t,
    cublasLtMatmulPreference_t, cublasLtMatrixLayout_t, cublasStatus_t, cudaStream_t,
};

use crate::call;
use crate::outcome::wrong;
use crate::settings::SETTINGS;
use crate::work::Work;

#[cfg(test)]
pub(crate) use self::descriptors::*;
use self::descriptors::{library, status};
use self::product::{Product, Sizes};

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasLtGetVersion() -> usize {
    let (major, minor) = SETTINGS.cublaslt;
    major.unsigned_abs() as usize * 10_000 + minor.unsigned_abs() as usize * 100 + 2
}

/// Creates a handle on the device of the calling thread's context.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasLtCreate(handle: *mut cublasLtHandle_t) -> cublasStatus_t {
    let mut made = std::ptr::null_mut();
    let called = call::outside_capture("cublasLtCreate", |_| {
        made = library().handles.add(());
        Ok(())
    });
    if called as u32 != 0 {
        return cublasStatus_t::CUBLAS_STATUS_NOT_INITIALIZED;
    }
    // SAFETY: the caller has room for a handle.
    unsafe { *handle = made };
    cublasStatus_t::CUBLAS_STATUS_SUCCESS
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasLtDestroy(handle: cublasLtHandle_t) -> cublasStatus_t {
    match library().handles.remove(handle) {
        Some(()) => cublasStatus_t::CUBLAS_STATUS_SUCCESS,
        None => wrong("cublasLtDestroy", cublasStatus_t::CUBLAS_STATUS_INVALID_VALUE, "no such handle"),
    }
}

/// Chooses the only kernel, which is named by its sizes. Refuses while the calling thread captures,
/// as the library does since 13.3.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasLtMatmulAlgoGetHeuristic(
    handle: cublasLtHandle_t,
    product: cublasLtMatmulDesc_t,
    a: cublasLtMatrixLayout_t,
    b: cublasLtMatrixLayout_t,
    c: cublasLtMatrixLayout_t,
    d: cublasLtMatrixLayout_t,
    preference: cublasLtMatmulPreference_t,
    asked: c_int,
    results: *mut cublasLtMatmulHeuristicResult_t,
    count: *mut c_int,
) -> cublasStatus_t {
    const NAME: &str = "cublasLtMatmulAlgoGetHeuristic";
    let called = call::outside_capture(NAME, |_| Ok(()));
    if called as u32 != 0 {
        return cublasStatus_t::CUBLAS_STATUS_EXECUTION_FAILED;
    }
    status((|| {
        let library = library();
        let invalid = |reason| wrong(NAME, cublasStatus_t::CUBLAS_STATUS_INVALID_VALUE, reason);
        library.handles.get(handle).ok_or_else(|| invalid("no such handle"))?;
        library.preferences.get(preference).ok_or_else(|| invalid("no such preference"))?;
        let sizes = Sizes::new(&library, NAME, product, [a, b, c, d])?;
        if asked < 1 {
            return Err(invalid("no result is asked for"));
        }
        let found = c_int::from(sizes.is_aligned());
        // SAFETY: the caller has room for one result, and for their number.
        unsafe {
            *count = found;
            if found == 1 {
                (*results).algo = sizes.algorithm();
                (*results).workspaceSize = 0;
                (*results).state = cublasStatus_t::CUBLAS_STATUS_SUCCESS;
                (*results).wavesCount = 1.0;
            }
        }
        Ok(())
    })())
}

/// Enqueues `D = alpha · op(A) · B + beta · C`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cublasLtMatmul(
    handle: cublasLtHandle_t,
    product: cublasLtMatmulDesc_t,
    alpha: *const c_void,
    a: *const c_void,
    a_layout: cublasLtMatrixLayout_t,
    b: *const c_void,
    b_layout: cublasLtMatrixLayout_t,
    beta: *const c_void,
    c: *const c_void,
    c_layout: cublasLtMatrixLayout_t,
    d: *mut c_void,
    d_layout: cublasLtMatrixLayout_t,
    algorithm: *const cublasLtMatmulAlgo_t,
    workspace: *mut c_void,
    workspace_bytes: usize,
    stream: cudaStream_t,
) -> cublasStatus_t {
    const NAME: &str = "cublasLtMatmul";
    let invalid = |reason| wrong(NAME, cublasStatus_t::CUBLAS_STATUS_INVALID_VALUE, reason);
    // SAFETY: the caller gives two factors in host memory and an algorithm, or null.
    let given = unsafe { (alpha.cast::<f32>().as_ref(), beta.cast::<f32>().as_ref(), algorithm.as_ref()) };
    let (Some(&alpha), Some(&beta), Some(algorithm)) = given else {
        return invalid("a factor or the algorithm is missing");
    };
    let made = (|| {
        let library = library();
        library.handles.get(handle).ok_or_else(|| invalid("no such handle"))?;
        let sizes = Sizes::new(&library, NAME, product, [a_layout, b_layout, c_layout, d_layout])?;
        if sizes.algorithm() != *algorithm {
            return Err(invalid("the algorithm was chosen for other sizes"));
        }
        let [a, b, c, d] = [a, b, c, d.cast_const()].map(|matrix| matrix as u64);
        if [a, b, c, d, workspace as u64].iter().any(|address| !address.is_multiple_of(16)) {
            return Err(invalid("an address that isn't a multiple of 16"));
        }
        Ok(Product { sizes, alpha, beta, a, b, c, d })
    })();
    let product = match made {
        Ok(product) => product,
        Err(status) => return status,
    };
    let called = call::context(NAME, |context| {
        product.ranges().into_iter().try_for_each(|(at, bytes)| context.check_range(NAME, at, bytes))?;
        context.check_range(NAME, workspace as u64, workspace_bytes)?;
        context.enqueue(NAME, stream.cast(), Work::Product(product))
    });
    if called as u32 == 0 {
        cublasStatus_t::CUBLAS_STATUS_SUCCESS
    } else {
        cublasStatus_t::CUBLAS_STATUS_EXECUTION_FAILED
    }
}

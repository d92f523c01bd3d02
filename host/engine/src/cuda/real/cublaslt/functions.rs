//! cuBLASLt's functions, with the types of its header.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use cudarc::cublaslt::sys::{
    cublasComputeType_t, cublasLtHandle_t, cublasLtMatmulAlgo_t, cublasLtMatmulDesc_t,
    cublasLtMatmulDescAttributes_t, cublasLtMatmulHeuristicResult_t, cublasLtMatmulPreference_t,
    cublasLtMatmulPreferenceAttributes_t, cublasLtMatrixLayout_t, cublasStatus_t, cudaDataType,
    cudaDataType_t, cudaStream_t,
};
use libloading::os::unix::Library;

use crate::cuda::libraries::CUBLASLT;
use crate::cuda::real::library::{function, loaded_once, open};

type Heuristic = unsafe extern "C" fn(
    cublasLtHandle_t,
    cublasLtMatmulDesc_t,
    cublasLtMatrixLayout_t,
    cublasLtMatrixLayout_t,
    cublasLtMatrixLayout_t,
    cublasLtMatrixLayout_t,
    cublasLtMatmulPreference_t,
    c_int,
    *mut cublasLtMatmulHeuristicResult_t,
    *mut c_int,
) -> cublasStatus_t;

type Matmul = unsafe extern "C" fn(
    cublasLtHandle_t,
    cublasLtMatmulDesc_t,
    *const c_void,
    *const c_void,
    cublasLtMatrixLayout_t,
    *const c_void,
    cublasLtMatrixLayout_t,
    *const c_void,
    *const c_void,
    cublasLtMatrixLayout_t,
    *mut c_void,
    cublasLtMatrixLayout_t,
    *const cublasLtMatmulAlgo_t,
    *mut c_void,
    usize,
    cudaStream_t,
) -> cublasStatus_t;

/// The functions that are called, of a library that stays loaded.
#[derive(Debug)]
pub(super) struct Functions {
    pub(super) version: unsafe extern "C" fn() -> usize,
    pub(super) create: unsafe extern "C" fn(*mut cublasLtHandle_t) -> cublasStatus_t,
    pub(super) destroy: unsafe extern "C" fn(cublasLtHandle_t) -> cublasStatus_t,
    pub(super) create_product: unsafe extern "C" fn(
        *mut cublasLtMatmulDesc_t,
        cublasComputeType_t,
        cudaDataType_t,
    ) -> cublasStatus_t,
    pub(super) set_product: unsafe extern "C" fn(
        cublasLtMatmulDesc_t,
        cublasLtMatmulDescAttributes_t,
        *const c_void,
        usize,
    ) -> cublasStatus_t,
    pub(super) destroy_product: unsafe extern "C" fn(cublasLtMatmulDesc_t) -> cublasStatus_t,
    pub(super) create_layout:
        unsafe extern "C" fn(*mut cublasLtMatrixLayout_t, cudaDataType, u64, u64, i64) -> cublasStatus_t,
    pub(super) destroy_layout: unsafe extern "C" fn(cublasLtMatrixLayout_t) -> cublasStatus_t,
    pub(super) create_preference: unsafe extern "C" fn(*mut cublasLtMatmulPreference_t) -> cublasStatus_t,
    pub(super) set_preference: unsafe extern "C" fn(
        cublasLtMatmulPreference_t,
        cublasLtMatmulPreferenceAttributes_t,
        *const c_void,
        usize,
    ) -> cublasStatus_t,
    pub(super) destroy_preference: unsafe extern "C" fn(cublasLtMatmulPreference_t) -> cublasStatus_t,
    pub(super) heuristic: Heuristic,
    pub(super) matmul: Matmul,
    _library: Library,
}

impl Functions {
    /// The library's functions; `None` where it can't be loaded, or lacks one.
    pub(super) fn find() -> Option<&'static Self> {
        static FOUND: OnceLock<Functions> = OnceLock::new();
        loaded_once(&FOUND, Self::load)
    }

    fn load() -> Option<Self> {
        let library = open(CUBLASLT)?;
        // SAFETY: the types are those of cuBLASLt's header.
        unsafe {
            Some(Self {
                version: function(&library, "cublasLtGetVersion")?,
                create: function(&library, "cublasLtCreate")?,
                destroy: function(&library, "cublasLtDestroy")?,
                create_product: function(&library, "cublasLtMatmulDescCreate")?,
                set_product: function(&library, "cublasLtMatmulDescSetAttribute")?,
                destroy_product: function(&library, "cublasLtMatmulDescDestroy")?,
                create_layout: function(&library, "cublasLtMatrixLayoutCreate")?,
                destroy_layout: function(&library, "cublasLtMatrixLayoutDestroy")?,
                create_preference: function(&library, "cublasLtMatmulPreferenceCreate")?,
                set_preference: function(&library, "cublasLtMatmulPreferenceSetAttribute")?,
                destroy_preference: function(&library, "cublasLtMatmulPreferenceDestroy")?,
                heuristic: function(&library, "cublasLtMatmulAlgoGetHeuristic")?,
                matmul: function(&library, "cublasLtMatmul")?,
                _library: library,
            })
        }
    }
}

//! cuBLASLt's functions, with the types of its header.

use std::ffi::{c_int, c_void};

use cudarc::cublaslt::sys::{
    cublasComputeType_t, cublasLtHandle_t, cublasLtMatmulAlgo_t, cublasLtMatmulDesc_t,
    cublasLtMatmulDescAttributes_t, cublasLtMatmulHeuristicResult_t, cublasLtMatmulPreference_t,
    cublasLtMatmulPreferenceAttributes_t, cublasLtMatrixLayout_t, cublasStatus_t, cudaDataType,
    cudaDataType_t, cudaStream_t,
};

use crate::cuda::libraries::CUBLASLT;
use crate::cuda::real::library::functions;

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

functions! {
    CUBLASLT;
    version: unsafe extern "C" fn() -> usize = "cublasLtGetVersion";
    create: unsafe extern "C" fn(*mut cublasLtHandle_t) -> cublasStatus_t = "cublasLtCreate";
    destroy: unsafe extern "C" fn(cublasLtHandle_t) -> cublasStatus_t = "cublasLtDestroy";
    create_product: unsafe extern "C" fn(
        *mut cublasLtMatmulDesc_t,
        cublasComputeType_t,
        cudaDataType_t,
    ) -> cublasStatus_t = "cublasLtMatmulDescCreate";
    set_product: unsafe extern "C" fn(
        cublasLtMatmulDesc_t,
        cublasLtMatmulDescAttributes_t,
        *const c_void,
        usize,
    ) -> cublasStatus_t = "cublasLtMatmulDescSetAttribute";
    destroy_product:
        unsafe extern "C" fn(cublasLtMatmulDesc_t) -> cublasStatus_t = "cublasLtMatmulDescDestroy";
    create_layout: unsafe extern "C" fn(
        *mut cublasLtMatrixLayout_t,
        cudaDataType,
        u64,
        u64,
        i64,
    ) -> cublasStatus_t = "cublasLtMatrixLayoutCreate";
    destroy_layout:
        unsafe extern "C" fn(cublasLtMatrixLayout_t) -> cublasStatus_t = "cublasLtMatrixLayoutDestroy";
    create_preference: unsafe extern "C" fn(
        *mut cublasLtMatmulPreference_t,
    ) -> cublasStatus_t = "cublasLtMatmulPreferenceCreate";
    set_preference: unsafe extern "C" fn(
        cublasLtMatmulPreference_t,
        cublasLtMatmulPreferenceAttributes_t,
        *const c_void,
        usize,
    ) -> cublasStatus_t = "cublasLtMatmulPreferenceSetAttribute";
    destroy_preference:
        unsafe extern "C" fn(cublasLtMatmulPreference_t) -> cublasStatus_t = "cublasLtMatmulPreferenceDestroy";
    heuristic: Heuristic = "cublasLtMatmulAlgoGetHeuristic";
    matmul: Matmul = "cublasLtMatmul";
}

//! The functions have the types that cudarc, which has them from NVIDIA's headers, calls them with.
//! This is checked by the compiler.

use cudarc::{cublaslt, driver, nvrtc};

use crate::cublaslt::*;
use crate::driver::*;
use crate::nvrtc::*;

fn same1<A, R>(_: unsafe extern "C" fn(A) -> R, _: unsafe fn(A) -> R) {}
fn same2<A, B, R>(_: unsafe extern "C" fn(A, B) -> R, _: unsafe fn(A, B) -> R) {}
fn same3<A, B, C, R>(_: unsafe extern "C" fn(A, B, C) -> R, _: unsafe fn(A, B, C) -> R) {}
fn same4<A, B, C, D, R>(_: unsafe extern "C" fn(A, B, C, D) -> R, _: unsafe fn(A, B, C, D) -> R) {}
fn same5<A, B, C, D, E, R>(_: unsafe extern "C" fn(A, B, C, D, E) -> R, _: unsafe fn(A, B, C, D, E) -> R) {}
fn same6<A, B, C, D, E, F, R>(
    _: unsafe extern "C" fn(A, B, C, D, E, F) -> R,
    _: unsafe fn(A, B, C, D, E, F) -> R,
) {
}

#[test]
fn the_drivers_functions_have_the_types_of_its_header() {
    use driver::sys;
    same2(cuGetErrorName, sys::cuGetErrorName);
    same1(cuInit, sys::cuInit);
    same1(cuDriverGetVersion, sys::cuDriverGetVersion);
    same1(cuDeviceGetCount, sys::cuDeviceGetCount);
    same2(cuDeviceGet, sys::cuDeviceGet);
    same3(cuDeviceGetName, sys::cuDeviceGetName);
    same2(cuDeviceTotalMem_v2, sys::cuDeviceTotalMem_v2);
    same3(cuDeviceGetAttribute, sys::cuDeviceGetAttribute);
    same2(cuDevicePrimaryCtxRetain, sys::cuDevicePrimaryCtxRetain);
    same1(cuDevicePrimaryCtxRelease_v2, sys::cuDevicePrimaryCtxRelease_v2);
    same1(cuCtxSetCurrent, sys::cuCtxSetCurrent);
    same2(cuMemGetInfo_v2, sys::cuMemGetInfo_v2);
    same2(cuMemAlloc_v2, sys::cuMemAlloc_v2);
    same1(cuMemFree_v2, sys::cuMemFree_v2);
    same3(cuMemHostAlloc, sys::cuMemHostAlloc);
    same1(cuMemFreeHost, sys::cuMemFreeHost);
    same4(cuMemcpyHtoDAsync_v2, sys::cuMemcpyHtoDAsync_v2);
    same4(cuMemcpyDtoHAsync_v2, sys::cuMemcpyDtoHAsync_v2);
    same4(cuMemcpyDtoDAsync_v2, sys::cuMemcpyDtoDAsync_v2);
    same4(cuMemsetD8Async, sys::cuMemsetD8Async);
    same2(cuStreamCreate, sys::cuStreamCreate);
    same1(cuStreamDestroy_v2, sys::cuStreamDestroy_v2);
    same1(cuStreamSynchronize, sys::cuStreamSynchronize);
    same2(cuStreamBeginCapture_v2, sys::cuStreamBeginCapture_v2);
    same2(cuStreamEndCapture, sys::cuStreamEndCapture);
    same2(cuEventCreate, sys::cuEventCreate);
    same1(cuEventDestroy_v2, sys::cuEventDestroy_v2);
    same2(cuEventRecord, sys::cuEventRecord);
    same1(cuEventSynchronize, sys::cuEventSynchronize);
    same3(cuGraphInstantiateWithFlags, sys::cuGraphInstantiateWithFlags);
    same1(cuGraphDestroy, sys::cuGraphDestroy);
    same1(cuGraphExecDestroy, sys::cuGraphExecDestroy);
    same2(cuGraphLaunch, sys::cuGraphLaunch);
    same2(cuModuleLoadData, sys::cuModuleLoadData);
    same3(cuModuleGetFunction, sys::cuModuleGetFunction);
    same3(cuFuncSetAttribute, sys::cuFuncSetAttribute);
    same4(cuLaunchKernelEx, sys::cuLaunchKernelEx);
}

#[test]
fn compiler_functions_have_the_types_of_its_header() {
    use nvrtc::sys;
    same2(nvrtcVersion, sys::nvrtcVersion);
    same6(nvrtcCreateProgram, sys::nvrtcCreateProgram);
    same1(nvrtcDestroyProgram, sys::nvrtcDestroyProgram);
    same3(nvrtcCompileProgram, sys::nvrtcCompileProgram);
    same2(nvrtcGetCUBINSize, sys::nvrtcGetCUBINSize);
    same2(nvrtcGetCUBIN, sys::nvrtcGetCUBIN);
    same2(nvrtcGetProgramLogSize, sys::nvrtcGetProgramLogSize);
    same2(nvrtcGetProgramLog, sys::nvrtcGetProgramLog);
}

/// `cublasLtMatmul` and `cublasLtMatmulAlgoGetHeuristic` have too many parameters for this; their
/// calls in tests check them.
#[test]
fn cublaslt_functions_have_the_types_of_its_header() {
    use cublaslt::sys;
    same1(cublasLtCreate, sys::cublasLtCreate);
    same1(cublasLtDestroy, sys::cublasLtDestroy);
    same3(cublasLtMatmulDescCreate, sys::cublasLtMatmulDescCreate);
    same1(cublasLtMatmulDescDestroy, sys::cublasLtMatmulDescDestroy);
    same4(cublasLtMatmulDescSetAttribute, sys::cublasLtMatmulDescSetAttribute);
    same5(cublasLtMatrixLayoutCreate, sys::cublasLtMatrixLayoutCreate);
    same1(cublasLtMatrixLayoutDestroy, sys::cublasLtMatrixLayoutDestroy);
    same1(cublasLtMatmulPreferenceCreate, sys::cublasLtMatmulPreferenceCreate);
    same1(cublasLtMatmulPreferenceDestroy, sys::cublasLtMatmulPreferenceDestroy);
    same4(cublasLtMatmulPreferenceSetAttribute, sys::cublasLtMatmulPreferenceSetAttribute);
}

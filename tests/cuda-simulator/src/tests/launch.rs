//! Launches, and the kernels that they launch.
#![expect(unsafe_code, reason = "calls as the engine makes them")]

use cudarc::driver::sys::{
    CUfunction_attribute, CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue, CUlaunchConfig,
    CUresult,
};
use cudarc::nvrtc::sys::nvrtcResult;

use super::rig::{Rig, compiled, ok, one_thread};
use crate::driver::*;

#[test]
fn launches_that_no_device_takes_are_refused() {
    let rig = Rig::new();
    let (at, function) = (rig.allocate(4), rig.kernel());
    let usual = CUlaunchConfig { hStream: rig.stream, ..one_thread() };
    for (what, config) in [
        ("no blocks", CUlaunchConfig { gridDimY: 0, ..usual }),
        ("many threads", CUlaunchConfig { blockDimX: 65, ..usual }),
        ("shared memory", CUlaunchConfig { sharedMemBytes: (48 << 10) + 1, ..usual }),
        ("attributes", CUlaunchConfig { numAttrs: 1, ..usual }),
    ] {
        let result = rig.launch(function, &config, at, 1, 1);
        assert_eq!(result, CUresult::CUDA_ERROR_INVALID_VALUE, "{what}");
    }
    let stream = CUlaunchConfig { hStream: function.cast(), ..usual };
    assert_eq!(rig.launch(function, &stream, at, 1, 1), CUresult::CUDA_ERROR_INVALID_HANDLE);
    ok(rig.launch(function, &usual, at, 0, 1));
    ok(rig.synchronize());
}

#[test]
fn more_shared_memory_has_to_be_allowed_first() {
    let rig = Rig::new();
    let (at, function) = (rig.allocate(4), rig.kernel());
    let bytes = 100 << 10;
    let config = CUlaunchConfig { hStream: rig.stream, sharedMemBytes: bytes, ..one_thread() };
    assert_eq!(rig.launch(function, &config, at, 0, 1), CUresult::CUDA_ERROR_INVALID_VALUE);
    let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    // SAFETY: a function of the test.
    let allow = |bytes: u32| unsafe { cuFuncSetAttribute(function, attribute, bytes.cast_signed()) };
    assert_eq!(allow((227 << 10) + 1), CUresult::CUDA_ERROR_INVALID_VALUE);
    ok(allow(bytes));
    ok(rig.launch(function, &config, at, 0, 1));
    ok(rig.synchronize());
}

#[test]
fn overlap_is_the_only_attribute_that_is_known() {
    let rig = Rig::new();
    let (at, function) = (rig.allocate(4), rig.kernel());
    let launch = |id| {
        let value = CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 0 };
        let mut attribute = CUlaunchAttribute { id, pad: [0; 4], value };
        let config =
            CUlaunchConfig { hStream: rig.stream, attrs: &raw mut attribute, numAttrs: 1, ..one_thread() };
        rig.launch(function, &config, at, 0, 1)
    };
    ok(launch(CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION));
    let other = launch(CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
    assert_eq!(other, CUresult::CUDA_ERROR_INVALID_VALUE);
    ok(rig.synchronize());
}

#[test]
fn a_kernel_that_a_module_lacks_is_not_found() {
    let rig = Rig::new();
    let missing = rig.loaded("\nKERNEL void one(u32* x) { *x = 1; }\n", "two");
    assert_eq!(missing.map(|_| ()), Err(CUresult::CUDA_ERROR_NOT_FOUND));
}

#[test]
fn binaries_of_other_compilers_or_gpus_are_refused() {
    let rig = Rig::new();
    let mut module = std::ptr::null_mut();
    let other = compiled("\nKERNEL void one(u32* x) { *x = 1; }\n", &["--gpu-architecture=sm_80"]).unwrap();
    for binary in [b"\x7fELF of another compiler".to_vec(), other] {
        // SAFETY: bytes that are read up to the first that isn't as expected.
        let result = unsafe { cuModuleLoadData(&raw mut module, binary.as_ptr().cast()) };
        assert_eq!(result, CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU);
    }
    ok(rig.synchronize());
}

#[test]
fn the_compiler_has_a_log_of_wrong_texts_and_options() {
    let (result, log) =
        compiled("\nKERNEL void one(u32* x) { undeclared = 1; }\n", &["--gpu-architecture=sm_90a"])
            .unwrap_err();
    assert!(result == nvrtcResult::NVRTC_ERROR_COMPILATION && log.contains("undeclared"), "{log}");
    let (result, log) = compiled("", &["--gpu-architecture=sm_90a", "--fast"]).unwrap_err();
    assert!(result == nvrtcResult::NVRTC_ERROR_INVALID_OPTION && log.contains("--fast"), "{log}");
}

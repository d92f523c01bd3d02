//! Launches of kernels.
#![expect(unsafe_code, reason = "C functions")]

use std::ffi::c_void;

use cuda_shim::KernelLaunch;
use cudarc::driver::sys::{CUfunction, CUlaunchAttribute, CUlaunchAttributeID, CUlaunchConfig, CUresult};

use super::module::Function;
use crate::call::context;
use crate::outcome::wrong;
use crate::settings::SETTINGS;
use crate::work::Work;

const NAME: &str = "cuLaunchKernelEx";

/// Enqueues a launch, with a copy of its arguments.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuLaunchKernelEx(
    config: *const CUlaunchConfig,
    function: CUfunction,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> CUresult {
    context(NAME, |context| {
        // SAFETY: the caller gives a configuration, or null.
        let config = unsafe { config.as_ref() }.ok_or_else(|| invalid("no configuration"))?;
        if !extra.is_null() || params.is_null() {
            return Err(invalid("arguments that aren't given by their addresses"));
        }
        let function = context.function(NAME, function)?;
        // SAFETY: the caller gives as many attributes as it says, and as many arguments as the
        // kernel has parameters.
        let (overlaps, args) = unsafe { (overlaps(config)?, arguments(function, params)?) };
        let launch = KernelLaunch {
            kernel: function.kernel.clone(),
            grid: [config.gridDimX, config.gridDimY, config.gridDimZ],
            block: [config.blockDimX, config.blockDimY, config.blockDimZ],
            shared_bytes: config.sharedMemBytes,
            args,
            overlaps,
        };
        launch.check().map_err(invalid)?;
        if launch.shared_bytes > function.shared_bytes {
            let allowed = function.shared_bytes;
            return Err(invalid(format!(
                "{} bytes of shared memory; {allowed} are allowed",
                launch.shared_bytes
            )));
        }
        let is_first = !std::mem::replace(&mut function.is_loaded, true);
        if is_first {
            context.refuse_in_capture("the first launch of a kernel, which loads it")?;
        }
        context.enqueue(NAME, config.hStream, Work::Launch(launch))
    })
}

/// Whether the launch may begin before the one in front has ended, which is the only attribute that
/// is known.
///
/// # Safety
/// There are as many attributes as the configuration says.
unsafe fn overlaps(config: &CUlaunchConfig) -> Result<bool, CUresult> {
    if config.numAttrs == 0 {
        return Ok(false);
    }
    if config.attrs.is_null() {
        return Err(invalid("attributes at null"));
    }
    // SAFETY: the caller says so.
    let attributes = unsafe { std::slice::from_raw_parts(config.attrs, config.numAttrs as usize) };
    attributes.iter().try_fold(false, |overlaps, CUlaunchAttribute { id, value, .. }| match id {
        CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
            if SETTINGS.compute >= (9, 0) =>
        {
            // SAFETY: it is the field of this attribute.
            Ok(overlaps | (unsafe { value.programmaticStreamSerializationAllowed } != 0))
        }
        other => Err(invalid(format!("attribute {other:?}"))),
    })
}

/// Copies of the arguments, each in a slot of eight bytes.
///
/// # Safety
/// There are as many arguments as the kernel has parameters.
unsafe fn arguments(function: &Function, params: *mut *mut c_void) -> Result<Vec<u64>, CUresult> {
    let copy = |(i, size): (usize, &u32)| {
        // SAFETY: the caller says so.
        let from = unsafe { *params.add(i) };
        if from.is_null() || *size > 8 {
            return Err(invalid(format!("argument {i} at {from:p}, of {size} bytes")));
        }
        let mut slot = [0u8; 8];
        // SAFETY: as above; the argument has the parameter's size.
        unsafe { slot.as_mut_ptr().copy_from_nonoverlapping(from.cast(), *size as usize) };
        Ok(u64::from_ne_bytes(slot))
    };
    function.kernel.parameters().iter().enumerate().map(copy).collect()
}

fn invalid(reason: impl std::fmt::Display) -> CUresult {
    wrong(NAME, CUresult::CUDA_ERROR_INVALID_VALUE, reason)
}

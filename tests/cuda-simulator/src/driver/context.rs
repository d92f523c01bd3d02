//! The primary context, and the current context of each thread.
#![expect(unsafe_code, reason = "C functions")]

use std::cell::Cell;

use cudarc::driver::sys::{CUcontext, CUdevice, CUresult};

use super::device::check;
use crate::call::driver;
use crate::context::Context;
use crate::outcome::{put, wrong};
use crate::settings::SETTINGS;

thread_local! {
    /// The current context's handle; 0 for none.
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// Handle of the calling thread's context; 0 for none.
pub(crate) fn current_context() -> usize {
    CURRENT.get()
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDevicePrimaryCtxRetain(
    context: *mut CUcontext,
    device: CUdevice,
) -> CUresult {
    const NAME: &str = "cuDevicePrimaryCtxRetain";
    driver(NAME, |driver| {
        check(NAME, device)?;
        if SETTINGS.exclusive {
            return Err(CUresult::CUDA_ERROR_DEVICE_UNAVAILABLE);
        }
        let id = match &mut driver.context {
            Some(context) => {
                context.retained += 1;
                context.id
            }
            none => none.insert(Context::new()).id,
        };
        put(NAME, context, id as CUcontext)
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDevicePrimaryCtxRelease_v2(device: CUdevice) -> CUresult {
    const NAME: &str = "cuDevicePrimaryCtxRelease_v2";
    driver(NAME, |driver| {
        check(NAME, device)?;
        let missing = || wrong(NAME, CUresult::CUDA_ERROR_INVALID_CONTEXT, "it isn't retained");
        let context = driver.context.as_mut().ok_or_else(missing)?;
        context.retained -= 1;
        if context.retained == 0 {
            for leak in context.leaks() {
                eprintln!("simulated CUDA: leaked {leak}");
            }
            driver.context = None;
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuCtxSetCurrent(context: CUcontext) -> CUresult {
    const NAME: &str = "cuCtxSetCurrent";
    driver(NAME, |driver| {
        let id = context as usize;
        if id != 0 && driver.context.as_ref().is_none_or(|context| context.id != id) {
            return Err(wrong(NAME, CUresult::CUDA_ERROR_INVALID_CONTEXT, "no such context"));
        }
        CURRENT.set(id);
        Ok(())
    })
}

//! Way into every function of the driver: the one lock, failures on demand, and the checks that all
//! functions make.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::CUresult;

use crate::context::Context;
use crate::outcome::{Outcome, wrong};
use crate::settings::{InjectedFailure, SETTINGS};

/// State of the library.
#[derive(Debug, Default)]
pub(crate) struct Driver {
    /// Number of calls of each function.
    calls: HashMap<&'static str, u64>,
    pub(crate) is_initialised: bool,
    /// The primary context, while it is retained.
    pub(crate) context: Option<Context>,
}

static DRIVER: LazyLock<Mutex<Driver>> = LazyLock::new(Mutex::default);

/// Errors that a setting can name: there is no other way from a number to a value of the type.
const ERRORS: [CUresult; 17] = [
    CUresult::CUDA_ERROR_OUT_OF_MEMORY,
    CUresult::CUDA_ERROR_DEVICE_UNAVAILABLE,
    CUresult::CUDA_ERROR_NO_DEVICE,
    CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU,
    CUresult::CUDA_ERROR_ECC_UNCORRECTABLE,
    CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
    CUresult::CUDA_ERROR_LAUNCH_TIMEOUT,
    CUresult::CUDA_ERROR_ASSERT,
    CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR,
    CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION,
    CUresult::CUDA_ERROR_MISALIGNED_ADDRESS,
    CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE,
    CUresult::CUDA_ERROR_INVALID_PC,
    CUresult::CUDA_ERROR_LAUNCH_FAILED,
    CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
    CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
    CUresult::CUDA_ERROR_UNKNOWN,
];

/// Numbers of errors after which a context returns nothing else.
const STICKY: [u32; 10] = [214, 700, 702, 710, 714, 715, 716, 717, 718, 719];

/// Runs a function that needs no context.
pub(crate) fn driver(name: &'static str, body: impl FnOnce(&mut Driver) -> Outcome) -> CUresult {
    let mut driver = lock();
    match driver.begin(name).and_then(|()| body(&mut driver)) {
        Ok(()) => CUresult::CUDA_SUCCESS,
        Err(error) => error,
    }
}

/// Runs a function of the calling thread's context.
pub(crate) fn context(name: &'static str, body: impl FnOnce(&mut Context) -> Outcome) -> CUresult {
    driver(name, |driver| driver.current(name).and_then(body))
}

/// Runs a function of the calling thread's context that may not be called while the thread
/// captures.
pub(crate) fn outside_capture(name: &'static str, body: impl FnOnce(&mut Context) -> Outcome) -> CUresult {
    context(name, |context| {
        context.refuse_in_capture(name)?;
        body(context)
    })
}

pub(crate) fn lock() -> MutexGuard<'static, Driver> {
    DRIVER.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Driver {
    /// Counts a call; an error where it is to fail, or comes before `cuInit`.
    fn begin(&mut self, name: &'static str) -> Outcome {
        let count = self.calls.entry(name).or_default();
        *count += 1;
        let fails = |failure: &&InjectedFailure| failure.name == name && failure.call == *count;
        if let Some(InjectedFailure { code, .. }) = SETTINGS.failures.iter().find(fails) {
            return Err(self.fail(*code));
        }
        let needs_nothing = matches!(name, "cuInit" | "cuDriverGetVersion");
        if self.is_initialised || needs_nothing {
            return Ok(());
        }
        Err(wrong(name, CUresult::CUDA_ERROR_NOT_INITIALIZED, "cuInit wasn't called"))
    }

    fn fail(&mut self, code: u32) -> CUresult {
        let error = ERRORS.into_iter().find(|error| *error as u32 == code);
        let error = error.unwrap_or_else(|| {
            eprintln!("simulated CUDA: no error {code} can be simulated");
            std::process::abort()
        });
        if STICKY.contains(&code)
            && let Some(context) = &mut self.context
        {
            context.lost.get_or_insert(error);
        }
        error
    }

    /// The context, if it is the calling thread's and works.
    fn current(&mut self, name: &str) -> Result<&mut Context, CUresult> {
        let id = crate::driver::current_context();
        let found = self.context.as_mut().filter(|context| context.id == id);
        let missing =
            || wrong(name, CUresult::CUDA_ERROR_INVALID_CONTEXT, "the thread has no current context");
        let context = found.ok_or_else(missing)?;
        context.lost.map_or(Ok(context), Err)
    }
}

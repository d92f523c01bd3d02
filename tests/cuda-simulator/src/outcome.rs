//! Results of functions, and what is printed where a call is wrong.

use std::fmt::Display;

use cudarc::driver::sys::CUresult;

/// Result of a function's work.
pub(crate) type Outcome = Result<(), CUresult>;

/// Prints what is wrong with a call; returns the error.
pub(crate) fn wrong<E>(name: &str, error: E, reason: impl Display) -> E {
    eprintln!("simulated CUDA: {name}: {reason}");
    error
}

/// Writes a function's result to where its caller wants it.
#[expect(unsafe_code, reason = "pointers of callers")]
pub(crate) fn put<T>(name: &str, at: *mut T, value: T) -> Outcome {
    if at.is_null() || !at.is_aligned() {
        return Err(wrong(name, CUresult::CUDA_ERROR_INVALID_VALUE, "no place for the result"));
    }
    // SAFETY: the caller says that there is room for a value.
    unsafe { at.write(value) };
    Ok(())
}

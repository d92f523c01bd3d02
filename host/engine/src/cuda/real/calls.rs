//! Results of the driver's calls as errors.

use cudarc::driver::result::DriverError;

use crate::cuda::CudaError;

/// Error of a call of the driver, with the driver's name for it.
pub(super) fn failed(call: &'static str, error: DriverError) -> CudaError {
    let name =
        error.error_name().map_or_else(|_| "unknown".to_owned(), |name| name.to_string_lossy().into_owned());
    CudaError::Call { call, code: error.0 as u32, name }
}

/// Names the call that a result comes from.
pub(super) trait Called<T> {
    /// Converts an error to that of the driver's function `call`.
    fn of(self, call: &'static str) -> Result<T, CudaError>;
}

impl<T> Called<T> for Result<T, DriverError> {
    fn of(self, call: &'static str) -> Result<T, CudaError> {
        self.map_err(|error| failed(call, error))
    }
}

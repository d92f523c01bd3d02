//! Results of the driver's calls as errors.

use cudarc::driver::result::DriverError;

use crate::cuda::CudaError;

/// The error of a call, with the driver's name for it.
pub(super) fn failed(call: &'static str, error: DriverError) -> CudaError {
    let name =
        error.error_name().map_or_else(|_| "unknown".to_owned(), |name| name.to_string_lossy().into_owned());
    CudaError::Call { call, code: error.0 as u32, name }
}

/// The result of a call.
pub(super) trait Called<T> {
    /// Its error is that of `call`.
    fn of(self, call: &'static str) -> Result<T, CudaError>;
}

impl<T> Called<T> for Result<T, DriverError> {
    fn of(self, call: &'static str) -> Result<T, CudaError> {
        self.map_err(|error| failed(call, error))
    }
}

//! Choice of the device that a model runs on, from the user's wish and the survey of the machine.

use super::{CudaError, DeviceInfo, Survey};
use crate::device::DeviceChoice;

/// Chooses the GPU for a model; `None` means the CPU.
///
/// `auto` takes a GPU where one can be used, and the CPU elsewhere: silently where there is no GPU,
/// with a warning where there is a GPU that can't be used. `cpu_only` is the name of a given
/// setting that only the CPU has, if there is one: `auto` then means the CPU.
///
/// # Errors
/// The GPU that was asked for can't be used.
pub fn choose_device(
    choice: DeviceChoice,
    survey: impl FnOnce() -> Survey,
    cpu_only: Option<&'static str>,
) -> Result<Option<DeviceInfo>, CudaError> {
    match (choice, cpu_only) {
        (DeviceChoice::Cpu, _) | (DeviceChoice::Auto, Some(_)) => Ok(None),
        (DeviceChoice::Cuda(_), Some(setting)) => Err(CudaError::CpuOnly { setting }),
        (DeviceChoice::Cuda(index), None) => survey().device(index).cloned().map(Some),
        (DeviceChoice::Auto, None) => match survey().first_usable() {
            Ok(device) => Ok(Some(device.clone())),
            Err(CudaError::NoDriver | CudaError::NoDevice) => Ok(None),
            Err(error) => {
                tracing::warn!("no GPU is used: {error}");
                Ok(None)
            }
        },
    }
}

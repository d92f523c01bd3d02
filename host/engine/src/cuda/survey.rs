//! Survey of this machine's CUDA: driver, GPUs, compiler of kernels. Made by `host devices`, and
//! before a model is loaded.
//!
//! Invariant: the driver's version is checked before any other call, since functions that an older
//! driver lacks would end the process.

use super::CudaError;
use super::platform::{DeviceInfo, Platform, cublaslt, nvrtc};
use super::real::Machine;
use super::version::CudaVersion;

/// Result of a survey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// The driver's version.
    pub driver: Result<CudaVersion, CudaError>,
    /// All GPUs that the driver finds.
    pub devices: Result<Vec<DeviceInfo>, CudaError>,
    /// Version of NVRTC, which compiles kernels. Libraries are not looked for without a driver.
    pub nvrtc: Result<CudaVersion, CudaError>,
    /// Version of cuBLASLt, which multiplies matrices of many rows; own kernels do without it.
    pub cublaslt: Result<CudaVersion, CudaError>,
}

impl Survey {
    /// Surveys this machine.
    pub fn of_this_machine() -> Self {
        Self::of(&Machine)
    }

    pub(super) fn of(platform: &dyn Platform) -> Self {
        let driver = driver(platform);
        let devices = match &driver {
            Ok(_) => devices(platform),
            Err(error) => Err(error.clone()),
        };
        let library = |find: fn(&dyn Platform) -> Result<CudaVersion, CudaError>| match &driver {
            Ok(_) => find(platform),
            Err(error) => Err(error.clone()),
        };
        Self { nvrtc: library(nvrtc), cublaslt: library(cublaslt), driver, devices }
    }

    /// The GPU of this index.
    ///
    /// # Errors
    /// It isn't there, or no kernels run on it.
    pub fn device(&self, index: usize) -> Result<&DeviceInfo, CudaError> {
        let devices = self.devices.as_ref().map_err(Clone::clone)?;
        let missing = || match devices.len() {
            0 => CudaError::NoDevice,
            found => CudaError::NoSuchDevice { index, found },
        };
        let device = devices.get(index).ok_or_else(missing)?;
        device.check().map(|()| device)
    }

    /// The first GPU that kernels run on.
    ///
    /// # Errors
    /// Reason why no GPU can be used.
    pub fn first_usable(&self) -> Result<&DeviceInfo, CudaError> {
        let devices = self.devices.as_ref().map_err(Clone::clone)?;
        devices.iter().find(|device| device.check().is_ok()).map_or_else(|| self.device(0), Ok)
    }
}

fn driver(platform: &dyn Platform) -> Result<CudaVersion, CudaError> {
    if !platform.has_driver() {
        return Err(CudaError::NoDriver);
    }
    match platform.driver_version()? {
        found if found < CudaVersion::NEEDED => Err(CudaError::OldDriver { found }),
        found => Ok(found),
    }
}

fn devices(platform: &dyn Platform) -> Result<Vec<DeviceInfo>, CudaError> {
    /// The driver's error number for a machine without GPUs.
    const NO_DEVICE: u32 = 100;
    match platform.devices() {
        Err(CudaError::Call { code: NO_DEVICE, .. }) => Ok(Vec::new()),
        other => other,
    }
}

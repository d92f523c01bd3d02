//! What there is of CUDA on this machine: driver, GPUs, compiler of kernels. Asked for by `host devices`, and before a model is loaded.
//!
//! Invariant: the driver's version is asked for before anything else, since functions that an older driver lacks would end the process.

use super::CudaError;
use super::version::CudaVersion;

/// One GPU (or one part of it, where it is partitioned).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceInfo {
    /// As the driver counts.
    pub index: usize,
    /// What its maker calls it.
    pub name: String,
    /// All of its memory.
    pub memory_bytes: u64,
    /// Compute capability, major and minor.
    pub compute: (u32, u32),
    /// Multiprocessors, of a partition its own.
    pub multiprocessors: u32,
    /// One process at a time may use it.
    pub exclusive: bool,
}

impl DeviceInfo {
    /// What kernels are compiled for: `sm_90a`.
    pub fn architecture(&self) -> String {
        let (major, minor) = self.compute;
        // Instructions of one architecture alone, where kernels use them.
        let own = if (major, minor) == (9, 0) { "a" } else { "" };
        format!("sm_{major}{minor}{own}")
    }

    /// Whether kernels run on it.
    fn check(&self) -> Result<(), CudaError> {
        let Self { index, name, compute, .. } = self;
        if *compute >= (8, 0) {
            return Ok(());
        }
        Err(CudaError::OldDevice { index: *index, name: name.clone(), compute: *compute })
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// The driver's version.
    pub driver: Result<CudaVersion, CudaError>,
    /// All GPUs that the driver finds.
    pub devices: Result<Vec<DeviceInfo>, CudaError>,
    /// The version of what compiles kernels.
    pub nvrtc: Result<CudaVersion, CudaError>,
}

impl Survey {
    /// Looks at this machine.
    pub fn of_this_machine() -> Self {
        Self::of(&super::real::Machine)
    }

    pub(super) fn of(platform: &dyn Platform) -> Self {
        let driver = driver(platform);
        let devices = match &driver {
            Ok(_) => devices(platform),
            Err(error) => Err(error.clone()),
        };
        Self { driver, devices, nvrtc: nvrtc(platform) }
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
    /// Why there is none.
    pub fn first_usable(&self) -> Result<&DeviceInfo, CudaError> {
        let devices = self.devices.as_ref().map_err(Clone::clone)?;
        devices.iter().find(|device| device.check().is_ok()).map_or_else(|| self.device(0), Ok)
    }
}

/// What is asked of a machine.
pub(super) trait Platform {
    /// Whether the driver's library can be loaded: nothing else may be asked where it can't.
    fn has_driver(&self) -> bool;
    fn driver_version(&self) -> Result<CudaVersion, CudaError>;
    /// All GPUs.
    fn devices(&self) -> Result<Vec<DeviceInfo>, CudaError>;
    /// None where its library can't be loaded.
    fn nvrtc_version(&self) -> Option<CudaVersion>;
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
    /// The driver's number for a machine without any.
    const NO_DEVICE: u32 = 100;
    match platform.devices() {
        Err(CudaError::Call { code: NO_DEVICE, .. }) => Ok(Vec::new()),
        other => other,
    }
}

pub(super) fn nvrtc(platform: &dyn Platform) -> Result<CudaVersion, CudaError> {
    match platform.nvrtc_version() {
        None => Err(CudaError::NoNvrtc),
        Some(found) if found.major() != CudaVersion::NEEDED.major() => Err(CudaError::OldNvrtc { found }),
        Some(found) => Ok(found),
    }
}

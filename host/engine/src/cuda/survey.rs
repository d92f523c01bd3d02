//! Survey of this machine's CUDA: driver, GPUs, compiler of kernels. Made by `host devices`, and before a model is loaded.
//!
//! Invariant: the driver's version is checked before any other call, since functions that an older driver lacks would end the process.

use cuda_kernels::Arch;

use super::CudaError;
use super::version::CudaVersion;

/// One GPU, or one partition of a GPU that is partitioned (MIG).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Index, as the driver counts.
    pub index: usize,
    /// Name that the maker gave it.
    pub name: String,
    /// Total memory in bytes.
    pub memory_bytes: u64,
    /// Compute capability, major and minor.
    pub compute: (u32, u32),
    /// Number of multiprocessors; of a partition, only those of the partition.
    pub multiprocessors: u32,
    /// Whether only one process at a time may use the GPU.
    pub exclusive: bool,
}

impl DeviceInfo {
    /// Architecture that kernels are compiled for.
    pub(super) fn arch(&self) -> Arch {
        Arch { major: self.compute.0, minor: self.compute.1 }
    }

    /// Checks that the kernels run on the GPU: it needs compute capability 8.0.
    fn check(&self) -> Result<(), CudaError> {
        let Self { index, name, compute, .. } = self;
        if *compute >= (8, 0) {
            return Ok(());
        }
        Err(CudaError::OldDevice { index: *index, name: name.clone(), compute: *compute })
    }
}

/// Result of a survey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// The driver's version.
    pub driver: Result<CudaVersion, CudaError>,
    /// All GPUs that the driver finds.
    pub devices: Result<Vec<DeviceInfo>, CudaError>,
    /// Version of NVRTC, which compiles kernels.
    pub nvrtc: Result<CudaVersion, CudaError>,
    /// Version of cuBLASLt, which multiplies matrices of many rows; own kernels do without it.
    pub cublaslt: Result<CudaVersion, CudaError>,
}

impl Survey {
    /// Surveys this machine.
    pub fn of_this_machine() -> Self {
        Self::of(&super::real::Machine)
    }

    pub(super) fn of(platform: &dyn Platform) -> Self {
        let driver = driver(platform);
        let devices = match &driver {
            Ok(_) => devices(platform),
            Err(error) => Err(error.clone()),
        };
        Self { driver, devices, nvrtc: nvrtc(platform), cublaslt: cublaslt(platform) }
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

/// Questions that a survey asks of a machine.
pub(super) trait Platform {
    /// Whether the driver's library can be loaded. Where it can't, nothing else of the driver may be called.
    fn has_driver(&self) -> bool;
    fn driver_version(&self) -> Result<CudaVersion, CudaError>;
    fn devices(&self) -> Result<Vec<DeviceInfo>, CudaError>;
    /// Version of NVRTC; `None` where its library can't be loaded.
    fn nvrtc_version(&self) -> Option<CudaVersion>;
    /// Version of cuBLASLt; `None` where its library can't be loaded.
    fn cublaslt_version(&self) -> Option<CudaVersion>;
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

pub(super) fn nvrtc(platform: &dyn Platform) -> Result<CudaVersion, CudaError> {
    match platform.nvrtc_version() {
        None => Err(CudaError::NoNvrtc),
        Some(found) if found.major() != CudaVersion::NEEDED.major() => Err(CudaError::OldNvrtc { found }),
        Some(found) => Ok(found),
    }
}

pub(super) fn cublaslt(platform: &dyn Platform) -> Result<CudaVersion, CudaError> {
    match platform.cublaslt_version() {
        None => Err(CudaError::NoCublasLt),
        Some(found) if found.major() != CudaVersion::NEEDED.major() => Err(CudaError::OldCublasLt { found }),
        Some(found) => Ok(found),
    }
}

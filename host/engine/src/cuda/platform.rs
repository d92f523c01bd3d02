//! What a survey asks of a machine, and the checks that need no more than an answer.

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
    /// Greatest number of bytes of shared memory that a block of a kernel may have.
    pub block_shared_bytes: u32,
    /// Whether only one process at a time may use the GPU.
    pub exclusive: bool,
}

impl DeviceInfo {
    /// Architecture that kernels are compiled for.
    pub(super) fn arch(&self) -> Arch {
        Arch { major: self.compute.0, minor: self.compute.1 }
    }

    /// Checks that the kernels run on the GPU: it needs compute capability 8.0.
    pub(super) fn check(&self) -> Result<(), CudaError> {
        let Self { index, name, compute, .. } = self;
        if *compute >= (8, 0) {
            return Ok(());
        }
        Err(CudaError::OldDevice { index: *index, name: name.clone(), compute: *compute })
    }
}

/// Questions that a survey asks of a machine.
pub(super) trait Platform {
    /// Whether the driver's library can be loaded. Where it can't, nothing else of the driver may
    /// be called.
    fn has_driver(&self) -> bool;
    fn driver_version(&self) -> Result<CudaVersion, CudaError>;
    fn devices(&self) -> Result<Vec<DeviceInfo>, CudaError>;
    /// Version of NVRTC; `None` where its library can't be loaded.
    fn nvrtc_version(&self) -> Option<CudaVersion>;
    /// Version of cuBLASLt; `None` where its library can't be loaded.
    fn cublaslt_version(&self) -> Option<CudaVersion>;
}

/// Version of NVRTC, or the reason why it can't be used.
pub(super) fn nvrtc(platform: &dyn Platform) -> Result<CudaVersion, CudaError> {
    match platform.nvrtc_version() {
        None => Err(CudaError::NoNvrtc),
        Some(found) if found.major() != CudaVersion::NEEDED.major() => Err(CudaError::OldNvrtc { found }),
        Some(found) => Ok(found),
    }
}

/// Version of cuBLASLt, or the reason why it can't be used.
pub(super) fn cublaslt(platform: &dyn Platform) -> Result<CudaVersion, CudaError> {
    match platform.cublaslt_version() {
        None => Err(CudaError::NoCublasLt),
        Some(found) if found.major() != CudaVersion::NEEDED.major() => Err(CudaError::OldCublasLt { found }),
        Some(found) => Ok(found),
    }
}

//! [`Platform`] of this machine: what cudarc finds.

use cudarc::driver::result::{self, device};
use cudarc::driver::sys::{self, CUdevice, CUdevice_attribute};

use super::calls::Called;
use super::cublaslt::{self, CublasLt};
use super::nvrtc::{self, Nvrtc};
use crate::cuda::platform::{self, DeviceInfo, Platform};
use crate::cuda::{CudaError, CudaVersion};

/// The machine that this process runs on.
pub(in crate::cuda) struct Machine;

impl Platform for Machine {
    fn has_driver(&self) -> bool {
        // SAFETY: loads the driver's library, which is made to be loaded by any process.
        unsafe { sys::is_culib_present() }
    }

    fn driver_version(&self) -> Result<CudaVersion, CudaError> {
        let mut number = 0;
        // SAFETY: every driver has this function, and it writes one integer.
        unsafe { sys::cuDriverGetVersion(&raw mut number) }.result().of("cuDriverGetVersion")?;
        Ok(CudaVersion::from_number(number))
    }

    fn devices(&self) -> Result<Vec<DeviceInfo>, CudaError> {
        result::init().of("cuInit")?;
        let count = device::get_count().of("cuDeviceGetCount")?;
        (0..count).map(device_info).collect()
    }

    fn nvrtc_version(&self) -> Option<CudaVersion> {
        nvrtc::version()
    }

    fn cublaslt_version(&self) -> Option<CudaVersion> {
        cublaslt::version()
    }
}

fn device_info(ordinal: i32) -> Result<DeviceInfo, CudaError> {
    use CUdevice_attribute as Attribute;
    let device = device::get(ordinal).of("cuDeviceGet")?;
    let ask = |attribute| attribute_of(device, attribute);
    let exclusive = sys::CUcomputemode_enum::CU_COMPUTEMODE_EXCLUSIVE_PROCESS as u32;
    // SAFETY: the device is the driver's.
    let memory = unsafe { device::total_mem(device) }.of("cuDeviceTotalMem")?;
    Ok(DeviceInfo {
        index: ordinal.unsigned_abs() as usize,
        name: device::get_name(device).of("cuDeviceGetName")?,
        memory_bytes: memory as u64,
        compute: (
            ask(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            ask(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        multiprocessors: ask(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        block_shared_bytes: ask(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        exclusive: ask(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_MODE)? == exclusive,
    })
}

fn attribute_of(device: CUdevice, attribute: CUdevice_attribute) -> Result<u32, CudaError> {
    // SAFETY: the device is the driver's.
    let value = unsafe { device::get_attribute(device, attribute) }.of("cuDeviceGetAttribute")?;
    Ok(value.unsigned_abs())
}

impl CublasLt {
    /// Version of the library on this machine, or the reason why it can't be used.
    pub(super) fn find() -> Result<CudaVersion, CudaError> {
        platform::cublaslt(&Machine as &dyn Platform)
    }
}

impl Nvrtc {
    pub(in crate::cuda) fn find() -> Self {
        Self(platform::nvrtc(&Machine as &dyn Platform))
    }
}

//! [`Platform`] of this machine: what cudarc finds.

use cudarc::driver::result::{self, device};
use cudarc::driver::sys::{self, CUdevice, CUdevice_attribute};

use super::calls::Called;
use crate::cuda::platform::{DeviceInfo, Platform};
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
        use cudarc::nvrtc::sys::{is_culib_present, nvrtcVersion};
        // SAFETY: loads the compiler's library, which is made to be loaded by any process.
        if !unsafe { is_culib_present() } {
            return None;
        }
        let (mut major, mut minor) = (0, 0);
        // SAFETY: every version has this function, and it writes two integers.
        unsafe { nvrtcVersion(&raw mut major, &raw mut minor) }.result().ok()?;
        Some(CudaVersion::new(major.unsigned_abs(), minor.unsigned_abs()))
    }

    fn cublaslt_version(&self) -> Option<CudaVersion> {
        use cudarc::cublaslt::sys::{cublasLtGetVersion, is_culib_present};
        // SAFETY: loads the library, which is made to be loaded by any process.
        if !unsafe { is_culib_present() } {
            return None;
        }
        // SAFETY: every version has this function, which only returns a number: 130002 is 13.0.2.
        let number = unsafe { cublasLtGetVersion() };
        let part = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Some(CudaVersion::new(part(number / 10_000), part(number / 100 % 100)))
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

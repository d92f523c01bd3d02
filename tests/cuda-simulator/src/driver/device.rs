//! The driver's version, and the device.
#![expect(unsafe_code, reason = "C functions")]

use std::ffi::{c_char, c_int, c_uint};

use cudarc::driver::sys::{CUdevice, CUdevice_attribute, CUresult};

use super::module::MOST_SHARED_BYTES;
use crate::call::driver;
use crate::outcome::{Outcome, put, wrong};
use crate::settings::SETTINGS;

const NAME: &str = "Simulated GPU";
const MULTIPROCESSORS: c_int = 132;

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuInit(flags: c_uint) -> CUresult {
    driver("cuInit", |driver| {
        if flags != 0 {
            return Err(wrong("cuInit", CUresult::CUDA_ERROR_INVALID_VALUE, "flags that aren't zero"));
        }
        if SETTINGS.devices == 0 {
            return Err(CUresult::CUDA_ERROR_NO_DEVICE);
        }
        driver.is_initialised = true;
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> CUresult {
    driver("cuDriverGetVersion", |_| put("cuDriverGetVersion", version, SETTINGS.version))
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> CUresult {
    driver("cuDeviceGetCount", |_| put("cuDeviceGetCount", count, SETTINGS.devices))
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int) -> CUresult {
    driver("cuDeviceGet", |_| {
        check("cuDeviceGet", ordinal)?;
        put("cuDeviceGet", device, ordinal)
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, len: c_int, device: CUdevice) -> CUresult {
    driver("cuDeviceGetName", |_| {
        check("cuDeviceGetName", device)?;
        let room = usize::try_from(len).unwrap_or_default();
        let bytes = NAME.bytes().take(room.saturating_sub(1)).chain([0]).take(room);
        for (i, byte) in bytes.enumerate() {
            put("cuDeviceGetName", name.wrapping_add(i), byte.cast_signed())?;
        }
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice) -> CUresult {
    driver("cuDeviceTotalMem_v2", |_| {
        check("cuDeviceTotalMem_v2", device)?;
        put("cuDeviceTotalMem_v2", bytes, usize::try_from(SETTINGS.memory).unwrap_or(usize::MAX))
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuDeviceGetAttribute(
    value: *mut c_int,
    attribute: CUdevice_attribute,
    device: CUdevice,
) -> CUresult {
    use CUdevice_attribute as Attribute;
    const EXCLUSIVE_PROCESS: c_int = 3;
    driver("cuDeviceGetAttribute", |_| {
        check("cuDeviceGetAttribute", device)?;
        let found = match attribute {
            Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR => SETTINGS.compute.0,
            Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR => SETTINGS.compute.1,
            Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT => MULTIPROCESSORS,
            Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_MODE => {
                c_int::from(SETTINGS.exclusive) * EXCLUSIVE_PROCESS
            }
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN => MOST_SHARED_BYTES,
            other => {
                let reason = format!("{other:?} isn't simulated");
                return Err(wrong("cuDeviceGetAttribute", CUresult::CUDA_ERROR_INVALID_VALUE, reason));
            }
        };
        put("cuDeviceGetAttribute", value, found)
    })
}

/// Checks that there is such a device.
pub(super) fn check(name: &str, device: CUdevice) -> Outcome {
    if (0..SETTINGS.devices).contains(&device) {
        return Ok(());
    }
    Err(wrong(name, CUresult::CUDA_ERROR_INVALID_DEVICE, format!("there is no device {device}")))
}

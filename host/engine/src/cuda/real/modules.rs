//! Loaded kernels, and their launches.

use std::collections::HashMap;
use std::ffi::CString;

use cuda_kernels::{KernelId, Launch, Variant};
use cudarc::driver::result::{function, module};
use cudarc::driver::sys::{self, CUfunction_attribute};

use super::calls::Called;
use crate::cuda::CudaError;

/// Dynamic shared memory of a block that a kernel may use without asking for more.
const USUAL_SHARED_BYTES: u32 = 48 << 10;

/// Loaded modules by variant, and their functions by kernel.
#[derive(Debug, Default)]
pub(super) struct Modules {
    modules: HashMap<Variant, sys::CUmodule>,
    functions: HashMap<KernelId, Function>,
}

#[derive(Debug, Clone, Copy)]
struct Function {
    function: sys::CUfunction,
    /// Dynamic shared memory of a block that launches of the function may use.
    shared_bytes: u32,
}

// SAFETY: handles of the driver, which any thread may use in their context.
unsafe impl Send for Modules {}

impl Modules {
    pub(super) fn has(&self, variant: &Variant) -> bool {
        self.modules.contains_key(variant)
    }

    /// Loads a binary into the current context.
    pub(super) fn load(&mut self, variant: &Variant, binary: &[u8]) -> Result<(), CudaError> {
        // SAFETY: the binary is what the compiler made, or what has its hash; it is copied.
        let module = unsafe { module::load_data(binary.as_ptr().cast()) }.of("cuModuleLoadData")?;
        for entry in variant.source.entries() {
            let name = CString::new(entry).expect("a kernel's name");
            // SAFETY: the module is loaded, and never unloaded before its context.
            let function = unsafe { module::get_function(module, name) }.of("cuModuleGetFunction")?;
            let kernel = KernelId { source: variant.source, defines: variant.defines, entry };
            self.functions.insert(kernel, Function { function, shared_bytes: USUAL_SHARED_BYTES });
        }
        self.modules.insert(*variant, module);
        Ok(())
    }

    /// Launches a kernel on a stream. With `overlaps` it may begin before the launch in front of it
    /// has ended.
    pub(super) fn launch(
        &mut self,
        launch: &Launch,
        overlaps: bool,
        stream: sys::CUstream,
    ) -> Result<(), CudaError> {
        let missing = || CudaError::unprepared(launch);
        let function = self.functions.get_mut(&launch.kernel).ok_or_else(missing)?;
        function.allow(launch.shared_bytes)?;
        let mut attribute = programmatic();
        let mut config = config(launch, stream);
        if overlaps {
            (config.attrs, config.numAttrs) = (&raw mut attribute, 1);
        }
        let mut pointers = launch.args.pointers();
        // SAFETY: the function is loaded, its arguments are those that its launcher made and
        // outlive the call, and the addresses among them are of memory that lives as long as the
        // driver.
        unsafe {
            sys::cuLaunchKernelEx(
                &raw const config,
                function.function,
                pointers.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        }
        .result()
        .of("cuLaunchKernelEx")
    }
}

impl Function {
    /// Lets launches of the function use `bytes` of dynamic shared memory.
    fn allow(&mut self, bytes: u32) -> Result<(), CudaError> {
        if bytes <= self.shared_bytes {
            return Ok(());
        }
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let value = i32::try_from(bytes).unwrap_or(i32::MAX);
        // SAFETY: the function is loaded.
        unsafe { function::set_function_attribute(self.function, attribute, value) }
            .of("cuFuncSetAttribute")?;
        self.shared_bytes = bytes;
        Ok(())
    }
}

fn config(launch: &Launch, stream: sys::CUstream) -> sys::CUlaunchConfig {
    let Launch { grid, block, shared_bytes, .. } = *launch;
    sys::CUlaunchConfig {
        gridDimX: grid[0],
        gridDimY: grid[1],
        gridDimZ: grid[2],
        blockDimX: block[0],
        blockDimY: block[1],
        blockDimZ: block[2],
        sharedMemBytes: shared_bytes,
        hStream: stream,
        attrs: std::ptr::null_mut(),
        numAttrs: 0,
    }
}

/// Launch attribute of programmatic dependent launch.
fn programmatic() -> sys::CUlaunchAttribute {
    // The driver reads the whole union, whichever field is used.
    let mut value = sys::CUlaunchAttributeValue { pad: [0; 64] };
    value.programmaticStreamSerializationAllowed = 1;
    let id = sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    sys::CUlaunchAttribute { id, pad: [0; 4], value }
}

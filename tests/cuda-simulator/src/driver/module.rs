//! Modules, their functions, and the functions' attributes.
#![expect(unsafe_code, reason = "C functions")]

use std::ffi::{CStr, c_char, c_int, c_void};

use cuda_shim::{Kernel, Module};
use cudarc::driver::sys::{CUfunction, CUfunction_attribute, CUmodule, CUresult};

use crate::call::{context, outside_capture};
use crate::context::Context;
use crate::nvrtc::Binary;
use crate::outcome::{put, wrong};
use crate::settings::SETTINGS;

/// Dynamic shared memory of a block that a function may use before it is allowed more.
const USUAL_SHARED_BYTES: u32 = 48 << 10;
/// Greatest dynamic shared memory of a block, on compute capability 9.0.
pub(super) const MOST_SHARED_BYTES: c_int = 227 << 10;

/// A kernel, and the dynamic shared memory that its launches may use.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) kernel: Kernel,
    pub(crate) shared_bytes: u32,
    /// Whether it was launched before. The driver loads a kernel at its first launch, which must
    /// not be part of a capture.
    pub(crate) is_loaded: bool,
}

/// Loads a binary of the simulated NVRTC.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuModuleLoadData(module: *mut CUmodule, image: *const c_void) -> CUresult {
    const NAME: &str = "cuModuleLoadData";
    outside_capture(NAME, |context| {
        // SAFETY: the caller says that it is a binary.
        let binary = unsafe { Binary::read(image.cast()) };
        let foreign = || wrong(NAME, CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU, "no binary of this NVRTC");
        let binary = binary.ok_or_else(foreign)?;
        let (major, minor) = SETTINGS.compute;
        let suffix = if major >= 9 { "a" } else { "" };
        if binary.arch != format!("sm_{major}{minor}{suffix}") {
            let reason = format!("a binary for {}", binary.arch);
            return Err(wrong(NAME, CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU, reason));
        }
        let compiled = Module::compile(&binary.program());
        let compiled = compiled.map_err(|error| wrong(NAME, CUresult::CUDA_ERROR_UNKNOWN, error))?;
        put(NAME, module, context.modules.add(compiled))
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuModuleGetFunction(
    function: *mut CUfunction,
    module: CUmodule,
    name: *const c_char,
) -> CUresult {
    const NAME: &str = "cuModuleGetFunction";
    context(NAME, |context| {
        let unknown = || wrong(NAME, CUresult::CUDA_ERROR_INVALID_HANDLE, "no such module");
        let module = context.modules.get(module).ok_or_else(unknown)?;
        // SAFETY: the caller gives a name that ends with a zero byte.
        let entry = unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned();
        let kernel = module.kernel(&entry);
        let kernel = kernel.map_err(|error| wrong(NAME, CUresult::CUDA_ERROR_NOT_FOUND, error))?;
        put(
            NAME,
            function,
            context.functions.add(Function { kernel, shared_bytes: USUAL_SHARED_BYTES, is_loaded: false }),
        )
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cuFuncSetAttribute(
    function: CUfunction,
    attribute: CUfunction_attribute,
    value: c_int,
) -> CUresult {
    const NAME: &str = "cuFuncSetAttribute";
    context(NAME, |context| {
        let function = context.function(NAME, function)?;
        let is_known = attribute == CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        if !is_known || !(0..=MOST_SHARED_BYTES).contains(&value) {
            let reason = format!("{attribute:?} = {value}");
            return Err(wrong(NAME, CUresult::CUDA_ERROR_INVALID_VALUE, reason));
        }
        function.shared_bytes = value.unsigned_abs();
        Ok(())
    })
}

impl Context {
    pub(crate) fn function(&mut self, name: &str, function: CUfunction) -> Result<&mut Function, CUresult> {
        let unknown = || wrong(name, CUresult::CUDA_ERROR_INVALID_HANDLE, "no such function");
        self.functions.get_mut(function).ok_or_else(unknown)
    }
}

//! NVRTC as a [`Compiler`]: compiles text for one architecture, on any machine that has the
//! library.

mod functions;

use std::ffi::{CString, c_char, c_int};
use std::ptr::{null, null_mut};

use cuda_kernels::{Arch, Variant};
use cudarc::nvrtc::result::NvrtcError;
use cudarc::nvrtc::sys::nvrtcProgram;

use self::functions::Functions;
use crate::cuda::compile::Compiler;
use crate::cuda::{CudaError, CudaVersion};

/// Version of NVRTC on this machine, or the error of why it can't be used.
pub(in crate::cuda) struct Nvrtc(pub(super) Result<CudaVersion, CudaError>);

impl Nvrtc {
    /// NVRTC on a machine that lacks it.
    #[cfg(test)]
    pub(in crate::cuda) fn missing() -> Self {
        Self(Err(CudaError::NoNvrtc))
    }
}

/// Version of the library; `None` where it can't be loaded.
pub(super) fn version() -> Option<CudaVersion> {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: it writes two integers.
    unsafe { (Functions::find()?.version)(&raw mut major, &raw mut minor) }.result().ok()?;
    Some(CudaVersion::new(major.unsigned_abs(), minor.unsigned_abs()))
}

impl Compiler for Nvrtc {
    fn version(&self) -> Result<CudaVersion, CudaError> {
        self.0.clone()
    }

    fn compile(&self, variant: &Variant, arch: Arch) -> Result<Vec<u8>, CudaError> {
        self.version()?;
        let functions = Functions::find().ok_or(CudaError::NoNvrtc)?;
        let failed = |log: String| CudaError::Compile { kernel: variant.to_string(), log };
        let text = CString::new(variant.text()).map_err(|error| failed(error.to_string()))?;
        let options = variant.options(arch).into_iter().map(CString::new).collect::<Result<Vec<_>, _>>();
        let options = options.map_err(|error| failed(error.to_string()))?;
        let program = Program::new(functions, &text).map_err(|error| failed(error.to_string()))?;
        program.compile(&options).map_err(failed)
    }
}

/// A program of NVRTC, destroyed when it is dropped.
struct Program<'a> {
    functions: &'static Functions,
    handle: nvrtcProgram,
    /// The program may refer to it.
    _text: &'a CString,
}

impl<'a> Program<'a> {
    fn new(functions: &'static Functions, text: &'a CString) -> Result<Self, NvrtcError> {
        let mut handle = null_mut();
        // SAFETY: the text outlives the program; there are no headers.
        unsafe { (functions.create)(&raw mut handle, text.as_ptr(), null(), 0, null(), null()) }.result()?;
        Ok(Self { functions, handle, _text: text })
    }

    /// Compiles to a binary; the error is NVRTC's log in one line.
    fn compile(&self, options: &[CString]) -> Result<Vec<u8>, String> {
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let count = c_int::try_from(options.len()).map_err(|error| error.to_string())?;
        // SAFETY: there are so many options, which outlive the call.
        let compiled = unsafe { (self.functions.compile)(self.handle, count, options.as_ptr()) };
        compiled.result().map_err(|error| format!("{error}: {}", self.log()))?;
        let Functions { binary_size, binary, .. } = self.functions;
        self.output(*binary_size, *binary).map_err(|error| error.to_string())
    }

    /// Log of the compilation, in one line.
    fn log(&self) -> String {
        let Functions { log_size, log, .. } = self.functions;
        let bytes = self.output(*log_size, *log).unwrap_or_default();
        let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(text).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Bytes that one function counts and the other writes.
    fn output(
        &self,
        size: unsafe extern "C" fn(nvrtcProgram, *mut usize) -> cudarc::nvrtc::sys::nvrtcResult,
        write: unsafe extern "C" fn(nvrtcProgram, *mut c_char) -> cudarc::nvrtc::sys::nvrtcResult,
    ) -> Result<Vec<u8>, NvrtcError> {
        let mut len = 0;
        // SAFETY: the program lives as long as this value; it writes one number.
        unsafe { size(self.handle, &raw mut len) }.result()?;
        let mut bytes = vec![0_u8; len];
        // SAFETY: as above; it writes as many bytes as the other said.
        unsafe { write(self.handle, bytes.as_mut_ptr().cast()) }.result()?;
        Ok(bytes)
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        // SAFETY: the program is the compiler's, and nobody uses it any more.
        let _ = unsafe { (self.functions.destroy)(&raw mut self.handle) };
    }
}

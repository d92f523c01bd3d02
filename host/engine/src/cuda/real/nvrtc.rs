//! NVRTC as a [`Compiler`]: compiles text for one architecture, on any machine that has the library.

use std::ffi::CString;

use cuda_kernels::{Arch, Variant};
use cudarc::nvrtc::{result, sys};

use super::Machine;
use crate::cuda::compile::Compiler;
use crate::cuda::platform::{self, Platform};
use crate::cuda::{CudaError, CudaVersion};

/// Version of NVRTC on this machine, or the error of why it can't be used.
pub(in crate::cuda) struct Nvrtc(Result<CudaVersion, CudaError>);

impl Nvrtc {
    pub(in crate::cuda) fn find() -> Self {
        Self(platform::nvrtc(&Machine as &dyn Platform))
    }

    /// NVRTC on a machine that lacks it.
    #[cfg(test)]
    pub(in crate::cuda) fn missing() -> Self {
        Self(Err(CudaError::NoNvrtc))
    }
}

impl Compiler for Nvrtc {
    fn version(&self) -> Result<CudaVersion, CudaError> {
        self.0.clone()
    }

    fn compile(&self, variant: &Variant, arch: Arch) -> Result<Vec<u8>, CudaError> {
        self.version()?;
        let failed = |log: String| CudaError::Compile { kernel: variant.to_string(), log };
        let text = CString::new(variant.text()).map_err(|error| failed(error.to_string()))?;
        let program = Program::new(&text).map_err(|error| failed(error.to_string()))?;
        program.compile(&variant.options(arch)).map_err(failed)
    }
}

/// A program of NVRTC, destroyed when it is dropped.
struct Program(sys::nvrtcProgram);

impl Program {
    fn new(text: &CString) -> Result<Self, result::NvrtcError> {
        result::create_program(text, None).map(Self)
    }

    /// Compiles to a binary; the error is NVRTC's log in one line.
    fn compile(&self, options: &[String]) -> Result<Vec<u8>, String> {
        // SAFETY: the program lives as long as this value; options have no zero bytes, being made of names and numbers.
        let compiled = unsafe {
            result::compile_program(self.0, &options.iter().map(String::as_str).collect::<Vec<_>>())
        };
        compiled.map_err(|error| format!("{error}: {}", self.log()))?;
        self.binary().map_err(|error| error.to_string())
    }

    fn log(&self) -> String {
        // SAFETY: as above.
        let log = unsafe { result::get_program_log(self.0) }.unwrap_or_default();
        let bytes: Vec<u8> =
            log.into_iter().map(|c| c.to_ne_bytes()[0]).take_while(|byte| *byte != 0).collect();
        String::from_utf8_lossy(&bytes).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn binary(&self) -> Result<Vec<u8>, result::NvrtcError> {
        let mut size = 0;
        // SAFETY: as above; it writes one number.
        unsafe { sys::nvrtcGetCUBINSize(self.0, &raw mut size) }.result()?;
        let mut binary = vec![0_u8; size];
        // SAFETY: as above; it writes as many bytes as it said.
        unsafe { sys::nvrtcGetCUBIN(self.0, binary.as_mut_ptr().cast()) }.result()?;
        Ok(binary)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: the program is the compiler's, and nobody uses it any more.
        let _ = unsafe { result::destroy_program(self.0) };
    }
}

//! A stream in the device's context, memory, and a kernel.

use std::ffi::{CString, c_void};
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::{CUdeviceptr, CUfunction, CUlaunchConfig, CUmodule, CUresult, CUstream};
use cudarc::nvrtc::sys::nvrtcResult;

use crate::driver::*;
use crate::nvrtc::*;

/// A kernel that adds `by` to each of `count` words; one thread does it all.
pub(super) const TEXT: &str = "\nKERNEL __launch_bounds__(64) void add_all(u32* words, u32 count, u32 by) { for (u32 i = 0; i < count; i++) words[i] += by; }\n";

/// A stream, in a context that this thread has retained. Tests take turns, since freeing memory
/// waits for the work of all streams.
pub(super) struct Rig {
    pub(super) stream: CUstream,
    _turn: Option<MutexGuard<'static, ()>>,
}

static TURN: Mutex<()> = Mutex::new(());

#[expect(unsafe_code, reason = "calls as the engine makes them")]
#[expect(clippy::unused_self, reason = "calls need the thread's context, which a rig has made")]
impl Rig {
    pub(super) fn new() -> Self {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        Self { _turn: Some(turn), ..Self::beside_another() }
    }

    /// A rig for another thread of the test whose turn it is.
    pub(super) fn beside_another() -> Self {
        let (mut context, mut stream) = (null_mut(), null_mut());
        // SAFETY: places for the results.
        unsafe {
            ok(cuInit(0));
            ok(cuDevicePrimaryCtxRetain(&raw mut context, 0));
            ok(cuCtxSetCurrent(context));
            ok(cuStreamCreate(&raw mut stream, 1));
        }
        Self { stream, _turn: None }
    }

    pub(super) fn allocate(&self, bytes: usize) -> CUdeviceptr {
        let mut at = 0;
        // SAFETY: a place for the result.
        ok(unsafe { cuMemAlloc_v2(&raw mut at, bytes) });
        at
    }

    /// Pinned words of the host, all zero.
    pub(super) fn pinned(&self, words: usize) -> &'static mut [u32] {
        let mut at = null_mut();
        // SAFETY: a place for the result, which has room for the words.
        let words = unsafe {
            ok(cuMemHostAlloc(&raw mut at, words * 4, 0));
            std::slice::from_raw_parts_mut(at.cast::<u32>(), words)
        };
        words.fill(0);
        words
    }

    pub(super) fn synchronize(&self) -> CUresult {
        // SAFETY: any handle will do.
        unsafe { cuStreamSynchronize(self.stream) }
    }

    pub(super) fn upload(&self, to: CUdeviceptr, from: &[u32]) -> CUresult {
        // SAFETY: the words live until they are copied.
        unsafe { cuMemcpyHtoDAsync_v2(to, from.as_ptr().cast(), size_of_val(from), self.stream) }
    }

    pub(super) fn download(&self, to: &mut [u32], from: CUdeviceptr) -> CUresult {
        // SAFETY: as above.
        unsafe { cuMemcpyDtoHAsync_v2(to.as_mut_ptr().cast(), from, size_of_val(to), self.stream) }
    }

    /// The kernel `add_all`, compiled, loaded, and launched once.
    pub(super) fn kernel(&self) -> CUfunction {
        let (_, function) = self.loaded(TEXT, "add_all").expect("a kernel");
        ok(self.add(function, 0, 0, 0));
        ok(self.synchronize());
        function
    }

    /// A module of this text, and one of its functions.
    pub(super) fn loaded(&self, text: &str, name: &str) -> Result<(CUmodule, CUfunction), CUresult> {
        let binary = compiled(text, &["--gpu-architecture=sm_90a"]).expect("it compiles");
        let (mut module, mut function) = (null_mut(), null_mut());
        let name = CString::new(name).expect("a name");
        // SAFETY: a binary, and places for the results.
        unsafe {
            ok(cuModuleLoadData(&raw mut module, binary.as_ptr().cast()));
            match cuModuleGetFunction(&raw mut function, module, name.as_ptr()) {
                CUresult::CUDA_SUCCESS => Ok((module, function)),
                error => Err(error),
            }
        }
    }

    /// Launches one thread that adds `by` to the words at `at`.
    pub(super) fn add(&self, function: CUfunction, at: CUdeviceptr, count: u32, by: u32) -> CUresult {
        self.launch(function, &CUlaunchConfig { hStream: self.stream, ..one_thread() }, at, count, by)
    }

    pub(super) fn launch(
        &self,
        function: CUfunction,
        config: &CUlaunchConfig,
        mut at: CUdeviceptr,
        mut count: u32,
        mut by: u32,
    ) -> CUresult {
        let mut params: [*mut c_void; 3] =
            [(&raw mut at).cast(), (&raw mut count).cast(), (&raw mut by).cast()];
        // SAFETY: the kernel has these parameters, which are copied before the call returns.
        unsafe { cuLaunchKernelEx(config, function, params.as_mut_ptr(), null_mut()) }
    }
}

pub(super) fn one_thread() -> CUlaunchConfig {
    CUlaunchConfig {
        gridDimX: 1,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 1,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: 0,
        hStream: null_mut(),
        attrs: null_mut(),
        numAttrs: 0,
    }
}

pub(super) fn ok(result: CUresult) {
    assert_eq!(result, CUresult::CUDA_SUCCESS);
}

/// Compiles a text as the engine does; the error is NVRTC's result and its log.
#[expect(unsafe_code, reason = "calls as the engine makes them")]
pub(super) fn compiled(text: &str, options: &[&str]) -> Result<Vec<u8>, (nvrtcResult, String)> {
    let text = CString::new(text).expect("a text");
    let options: Vec<CString> = options.iter().map(|option| CString::new(*option).expect("a text")).collect();
    let pointers: Vec<_> = options.iter().map(|option| option.as_ptr()).collect();
    let (mut program, mut size) = (null_mut(), 0);
    // SAFETY: texts that end with a zero byte, places for the results, and room for as many bytes
    // as are asked for.
    unsafe {
        nvrtcCreateProgram(
            &raw mut program,
            text.as_ptr(),
            std::ptr::null(),
            0,
            std::ptr::null(),
            std::ptr::null(),
        );
        let result =
            nvrtcCompileProgram(program, i32::try_from(pointers.len()).expect("few"), pointers.as_ptr());
        let succeeded = result == nvrtcResult::NVRTC_SUCCESS;
        let asked = if succeeded {
            nvrtcGetCUBINSize(program, &raw mut size)
        } else {
            nvrtcGetProgramLogSize(program, &raw mut size)
        };
        assert_eq!(asked, nvrtcResult::NVRTC_SUCCESS);
        let mut bytes = vec![0u8; size];
        let write = if succeeded { nvrtcGetCUBIN } else { nvrtcGetProgramLog };
        assert_eq!(write(program, bytes.as_mut_ptr().cast()), nvrtcResult::NVRTC_SUCCESS);
        assert_eq!(nvrtcDestroyProgram(&raw mut program), nvrtcResult::NVRTC_SUCCESS);
        if succeeded { Ok(bytes) } else { Err((result, String::from_utf8_lossy(&bytes).into_owned())) }
    }
}

//! Errors of GPUs, each one line that says what to do. Nothing here panics: cudarc panics where a
//! library is missing, so its functions are called only after the checks of `survey`.

use cuda_kernels::Launch;

use super::version::CudaVersion;

/// Why a GPU can't be used, or can't go on computing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CudaError {
    /// There is no driver.
    #[error("no NVIDIA driver (libcuda.so.1 not found); --device cpu works")]
    NoDriver,
    /// A setting that only the CPU has.
    #[error("{setting} is for the CPU alone: leave it out, or --device cpu")]
    CpuOnly {
        /// The command-line switch of the setting.
        setting: &'static str,
    },
    /// The driver is older than the CUDA version that the kernels are compiled for.
    #[error(
        "driver has CUDA {found}; needs {} (580): install a newer driver, or --device cpu",
        CudaVersion::NEEDED
    )]
    OldDriver {
        /// The driver's CUDA version.
        found: CudaVersion,
    },
    /// The driver finds no GPU.
    #[error("the NVIDIA driver finds no GPU (CUDA_VISIBLE_DEVICES may hide it); --device cpu works")]
    NoDevice,
    /// There are fewer GPUs than the index asked for.
    #[error("no GPU {index}: the driver finds {found}; `{} devices` lists them", system::program::name())]
    NoSuchDevice {
        /// Index that was asked for.
        index: usize,
        /// Number of GPUs that the driver finds.
        found: usize,
    },
    /// The GPU lacks bf16 instructions.
    #[error("GPU {index} ({name}) has compute capability {}.{}; needs 8.0: choose another, or --device cpu", .compute.0, .compute.1)]
    OldDevice {
        /// Index of the GPU.
        index: usize,
        /// Name of the GPU.
        name: String,
        /// Compute capability: major and minor.
        compute: (u32, u32),
    },
    /// Kernels must be compiled, and the compiler NVRTC isn't found.
    #[error(
        "libnvrtc.so.13 not found, which compiles the kernels at first start; pip install nvidia-cuda-nvrtc==13.0.88, and --cuda-libs DIR with the folder that it is in"
    )]
    NoNvrtc,
    /// NVRTC is of another major version of CUDA.
    #[error("libnvrtc has CUDA {found}; needs 13: --cuda-libs DIR with the folder of libnvrtc.so.13")]
    OldNvrtc {
        /// NVRTC's CUDA version.
        found: CudaVersion,
    },
    /// cuBLASLt, which multiplies matrices of many rows, isn't found.
    #[error(
        "libcublasLt.so.13 not found: own kernels compute prompts, which takes longer; pip install nvidia-cublas==13.0.2.14, and --cuda-libs DIR with the folder that it is in"
    )]
    NoCublasLt,
    /// cuBLASLt is of another major version of CUDA.
    #[error(
        "libcublasLt has version {found}, needs 13: own kernels compute prompts, which takes longer; --cuda-libs DIR with the folder of libcublasLt.so.13"
    )]
    OldCublasLt {
        /// cuBLASLt's version, which is CUDA's.
        found: CudaVersion,
    },
    /// A library in the folder that `--cuda-libs` names can't be loaded.
    #[error("--cuda-libs {folder}: {reason}")]
    Library {
        /// Folder that `--cuda-libs` names.
        folder: String,
        /// File that is missing, or the loader's message.
        reason: String,
    },
    /// Another process has the GPU to itself.
    #[error(
        "GPU {index} is in use in exclusive mode by another process: end that one, or choose another GPU"
    )]
    Exclusive {
        /// Index of the GPU.
        index: usize,
    },
    /// The GPU has too little free memory.
    #[error("not enough memory on the GPU for {what}: needed {}, free {}, total {}", mib(*.needed), mib(*.free), mib(*.total))]
    Memory {
        /// Use that the memory was asked for.
        what: &'static str,
        /// Bytes that were asked for.
        needed: u64,
        /// Bytes free on the GPU.
        free: u64,
        /// Bytes of the GPU in all.
        total: u64,
    },
    /// A block of a kernel needs more shared memory than the GPU has.
    #[error(
        "kernel {kernel} needs {needed} bytes of shared memory, GPU {index} has {found}: choose another, or --device cpu"
    )]
    SharedMemory {
        /// Source and constants of the kernel.
        kernel: String,
        /// Bytes that a block of the kernel needs.
        needed: u32,
        /// Index of the GPU.
        index: usize,
        /// Bytes that a block may have on the GPU.
        found: u32,
    },
    /// The compiler refuses a kernel, or the kernel wasn't prepared before its launch.
    #[error("kernel {kernel}: {log}")]
    Compile {
        /// Source and constants of the kernel.
        kernel: String,
        /// The compiler's log.
        log: String,
    },
    /// A call of CUDA's driver failed.
    #[error("{call}: {name} ({code})")]
    Call {
        /// Name of the driver's function.
        call: &'static str,
        /// The driver's error number.
        code: u32,
        /// The driver's name for the error.
        name: String,
    },
}

/// Errors after which the process can do nothing more on the GPU, as the driver's error numbers:
/// faults of kernels and of memory. Computed results are lost, and a reset within the process isn't
/// safe.
const STICKY: [u32; 10] = [214, 700, 702, 710, 714, 715, 716, 717, 718, 719];

impl CudaError {
    /// The driver's error number for a GPU that another process has in exclusive mode.
    pub(super) const UNAVAILABLE: u32 = 46;
    /// The driver's error number for a failed allocation.
    pub(super) const OUT_OF_MEMORY: u32 = 2;

    /// The error of a launch whose kernel wasn't prepared.
    pub(super) fn unprepared(launch: &Launch) -> Self {
        Self::Compile { kernel: launch.kernel.to_string(), log: "it wasn't prepared".to_owned() }
    }

    /// Whether this process can't compute anything on the GPU any more.
    pub fn is_sticky(&self) -> bool {
        matches!(self, Self::Call { code, .. } if STICKY.contains(code))
    }

    /// Whether the error is a failed allocation.
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self, Self::Memory { .. } | Self::Call { code: Self::OUT_OF_MEMORY, .. })
    }
}

fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_is_one_line() {
        let errors = [
            CudaError::NoDriver,
            CudaError::OldDriver { found: CudaVersion::new(12, 4) },
            CudaError::NoNvrtc,
            CudaError::NoCublasLt,
            CudaError::OldCublasLt { found: CudaVersion::new(12, 9) },
            CudaError::Memory { what: "weights", needed: 3 << 20, free: 1, total: 2 << 20 },
            CudaError::SharedMemory { kernel: "embed.cu".into(), needed: 2, index: 0, found: 1 },
        ];
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(lines[0], "no NVIDIA driver (libcuda.so.1 not found); --device cpu works");
        assert!(lines[1].starts_with("driver has CUDA 12.4; needs 13.0 (580)"), "{}", lines[1]);
        assert!(lines[2].contains("nvidia-cuda-nvrtc==13.0.88") && lines[2].contains("--cuda-libs"));
        assert!(lines[3].contains("nvidia-cublas==13.0.2.14") && lines[4].contains("version 12.9, needs 13"));
        assert!(lines[5].ends_with("needed 3 MiB, free 1 MiB, total 2 MiB"), "{}", lines[5]);
        assert!(lines.iter().all(|line| !line.contains('\n')));
    }

    #[test]
    fn kernel_and_memory_faults_are_sticky_and_no_others() {
        let call = |code| CudaError::Call { call: "cuStreamSynchronize", code, name: String::new() };
        for code in [214, 700, 702, 710, 714, 715, 716, 717, 718, 719] {
            assert!(call(code).is_sticky(), "{code}");
        }
        for code in [1, 2, 46, 100, 600, 701, 711, 713, 720, 999] {
            assert!(!call(code).is_sticky(), "{code}");
        }
    }
}

//! Compilation of a program to functions of this process: the system's C++ compiler, a shared
//! library.
//!
//! Invariant: a library's name is the hash of all that it is made from. It is written to another
//! file and renamed, so processes share the cache without locks.

use std::collections::HashMap;
use std::ffi::{OsString, c_void};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use cuda_kernels::{KernelId, MAX_ARGS, Variant};
use libloading::Library;
use sha2::{Digest, Sha256};

use crate::ShimError;
use crate::context::Context;
use crate::program::Program;

/// The sanitizers trap at vectors whose address isn't a multiple of their size, and at indices
/// outside of arrays.
const OPTIONS: [&str; 14] = [
    "-x",
    "c++",
    "-std=c++17",
    "-O2",
    "-shared",
    "-fPIC",
    "-w",
    "-fvisibility=hidden",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-strict-aliasing",
    "-ffp-contract=off",
    "-fsanitize=alignment,bounds",
    "-fsanitize-undefined-trap-on-error",
];

/// Runs one thread of a kernel; the second argument has the addresses of the kernel's arguments.
pub(crate) type Call = unsafe extern "C" fn(*mut Context, *const *mut c_void);
/// Writes the sizes of a kernel's parameters and returns their number.
type Parameters = unsafe extern "C" fn(*mut u32) -> u32;
/// Returns the most threads of a kernel's block.
type Threads = unsafe extern "C" fn() -> u32;

/// Compiled program. Its kernels can be called as long as this value or one of them lives.
#[derive(Debug, Clone)]
pub struct Module {
    program: Arc<str>,
    library: Arc<Library>,
}

/// Kernel of a compiled program.
#[derive(Debug, Clone)]
pub struct Kernel {
    pub(crate) name: Arc<str>,
    pub(crate) call: Call,
    sizes: Vec<u32>,
    /// Most threads of a block.
    pub(crate) threads: u32,
    _library: Arc<Library>,
}

impl Kernel {
    /// Size of each parameter in bytes.
    pub fn parameters(&self) -> &[u32] {
        &self.sizes
    }
}

/// Module of a variant, compiled at first use. The lock is held while it is compiled.
type Slot = Arc<Mutex<Option<Module>>>;
static MODULES: LazyLock<Mutex<HashMap<Variant, Slot>>> = LazyLock::new(Mutex::default);

/// The function of a kernel; its variant is compiled unless the cache has it.
pub(crate) fn kernel(id: &KernelId) -> Result<Kernel, ShimError> {
    let variant = id.variant();
    let slot = Arc::clone(lock(&MODULES).entry(variant).or_default());
    let mut slot = lock(&slot);
    let module = match &*slot {
        Some(module) => module,
        None => slot.insert(Module::compile(&Program::from(&variant))?),
    };
    module.kernel(id.entry)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Module {
    /// Compiles a program, unless the cache has it, and loads it.
    #[expect(unsafe_code, reason = "loads a library that this file wrote")]
    pub fn compile(program: &Program) -> Result<Self, ShimError> {
        let (text, compiler) = (program.cpp(), compiler());
        let path = directory().join(format!("{}-{}.so", program.name(), digest(&text, &compiler)));
        if !path.exists() {
            build(program, &text, &compiler, &path)?;
        }
        // SAFETY: the library has no constructors.
        let library = unsafe { Library::new(&path) };
        let library = library.map_err(|error| ShimError::Cache { path, error: error.to_string() })?;
        Ok(Self { program: program.to_string().into(), library: Arc::new(library) })
    }

    /// Kernel of this name.
    #[expect(unsafe_code, reason = "functions of a library that this file wrote")]
    pub fn kernel(&self, entry: &str) -> Result<Kernel, ShimError> {
        let name: Arc<str> = format!("{entry} of {}", self.program).into();
        let unknown = |error: libloading::Error| ShimError::Launch {
            kernel: name.to_string(),
            reason: format!("no such kernel: {error}"),
        };
        // SAFETY: the program's text gives these functions these types, for each of its kernels.
        let (call, parameters, threads) = unsafe {
            let call = self.library.get::<Call>(format!("shim_call_{entry}")).map_err(unknown)?;
            let parameters = self.library.get::<Parameters>(format!("shim_parameters_{entry}"));
            let threads = self.library.get::<Threads>(format!("shim_threads_{entry}"));
            (*call, *parameters.map_err(unknown)?, *threads.map_err(unknown)?)
        };
        let mut sizes = vec![0; MAX_ARGS];
        // SAFETY: there is room for as many as a kernel may have, which the text asserts.
        let len = unsafe { parameters(sizes.as_mut_ptr()) };
        sizes.truncate(len as usize);
        // SAFETY: it only returns a number.
        let threads = unsafe { threads() };
        Ok(Kernel { name, call, sizes, threads, _library: Arc::clone(&self.library) })
    }
}

fn build(program: &Program, text: &str, compiler: &OsString, path: &Path) -> Result<(), ShimError> {
    let failed = |error: std::io::Error| ShimError::Cache { path: path.into(), error: error.to_string() };
    let directory = directory();
    std::fs::create_dir_all(&directory).map_err(failed)?;
    let aside = tempfile::tempdir_in(&directory).map_err(failed)?;
    let (source, output) = (aside.path().join("kernel.cpp"), aside.path().join("kernel.so"));
    std::fs::write(&source, text).map_err(failed)?;
    let mut command = Command::new(compiler);
    command.args(OPTIONS).arg("-o").arg(&output).arg(&source).arg("-lm");
    let result = command
        .output()
        .map_err(|error| ShimError::NoCompiler { command: compiler.to_string_lossy().into_owned(), error })?;
    if !result.status.success() {
        let log = String::from_utf8_lossy(&result.stderr).into_owned();
        return Err(ShimError::Compile { program: program.to_string(), log });
    }
    std::fs::rename(output, path).map_err(failed)
}

/// `$CXX`, or the first of the usual names that is in the path.
fn compiler() -> OsString {
    let named = std::env::var_os("CXX").filter(|name| !name.is_empty());
    let exists = |name: &&str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|dir| dir.join(name).is_file())
    };
    named.unwrap_or_else(|| ["c++", "g++", "clang++"].into_iter().find(exists).unwrap_or("c++").into())
}

/// Folder of the cache: `CUDA_SHIM_CACHE`, or a folder beside the running test's or binary's, so
/// that `cargo clean` removes it.
fn directory() -> PathBuf {
    if let Some(named) = std::env::var_os("CUDA_SHIM_CACHE") {
        return named.into();
    }
    let program = std::env::current_exe().unwrap_or_default();
    let built = program.ancestors().find(|path| path.join("deps").is_dir());
    built.map_or_else(std::env::temp_dir, Path::to_path_buf).join("cuda-shim")
}

fn digest(text: &str, compiler: &OsString) -> String {
    let mut hash = Sha256::new();
    for part in OPTIONS.into_iter().chain([text]) {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.update(compiler.as_encoded_bytes());
    hash.finalize().iter().take(12).fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

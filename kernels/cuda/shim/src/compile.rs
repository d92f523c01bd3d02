//! Compilation of a variant to functions of this process: its text behind the shim's header, the system's C++ compiler, a shared
//! library.
//!
//! Invariant: a library's name is the hash of all that it is made from. It is written to another file and renamed, so processes
//! share the cache without locks.

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

const HEADER: &str = concat!(
    "#line 1 \"runtime.hpp\"\n",
    include_str!("runtime.hpp"),
    "#line 1 \"shim.hpp\"\n",
    include_str!("shim.hpp")
);
/// The sanitizers trap at vectors whose address isn't a multiple of their size, and at indices outside of arrays.
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

/// A kernel that can be called as long as this value lives.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) call: Call,
    /// Size of each parameter in bytes.
    pub(crate) sizes: Vec<u32>,
    _library: Arc<Library>,
}

/// Library of a variant, loaded at first use. The lock is held while the library is compiled.
type Slot = Arc<Mutex<Option<Arc<Library>>>>;
static LIBRARIES: LazyLock<Mutex<HashMap<Variant, Slot>>> = LazyLock::new(Mutex::default);

/// The function of a kernel; its variant is compiled unless the cache has it.
pub(crate) fn entry(kernel: &KernelId) -> Result<Entry, ShimError> {
    let variant = kernel.variant();
    let slot = Arc::clone(lock(&LIBRARIES).entry(variant).or_default());
    let mut slot = lock(&slot);
    let library = match &*slot {
        Some(library) => Arc::clone(library),
        None => Arc::clone(slot.insert(Arc::new(load(&variant)?))),
    };
    find(kernel, library)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[expect(unsafe_code, reason = "functions of a library that this file wrote")]
fn find(kernel: &KernelId, library: Arc<Library>) -> Result<Entry, ShimError> {
    let unknown = |error: libloading::Error| ShimError::Launch {
        kernel: kernel.to_string(),
        reason: format!("no such kernel: {error}"),
    };
    // SAFETY: `text` gives these functions these types, for each entry.
    let (call, parameters) = unsafe {
        let call = library.get::<Call>(format!("shim_call_{}", kernel.entry)).map_err(unknown)?;
        let parameters = library.get::<Parameters>(format!("shim_parameters_{}", kernel.entry));
        (*call, *parameters.map_err(unknown)?)
    };
    let mut sizes = vec![0; MAX_ARGS];
    // SAFETY: there is room for as many as a kernel may have, which the text asserts.
    let len = unsafe { parameters(sizes.as_mut_ptr()) };
    sizes.truncate(len as usize);
    Ok(Entry { call, sizes, _library: library })
}

/// The variant's text, and for each kernel a function that calls it with arguments as a driver takes them.
fn text(variant: &Variant) -> String {
    let mut text = String::new();
    for (name, value) in variant.defines.iter() {
        let _ = writeln!(text, "#define {name} {value}");
    }
    let _ = write!(text, "{HEADER}\n{}\n", variant.source.with_prelude());
    for name in variant.source.entries() {
        let _ = writeln!(
            text,
            "KERNEL void shim_call_{name}(shim::Context* c, void** args) {{ shim::context = c; shim::call({name}, args); }}\n\
             KERNEL u32 shim_parameters_{name}(u32* sizes) {{ return shim::parameters({name}, sizes); }}"
        );
    }
    text
}

#[expect(unsafe_code, reason = "loads a library that this file wrote")]
fn load(variant: &Variant) -> Result<Library, ShimError> {
    let text = text(variant);
    let compiler = compiler();
    let path = directory().join(format!("{}-{}.so", variant.source.name, digest(&text, &compiler)));
    if !path.exists() {
        build(variant, &text, &compiler, &path)?;
    }
    // SAFETY: the library has no constructors.
    let library = unsafe { Library::new(&path) };
    library.map_err(|error| ShimError::Cache { path, error: error.to_string() })
}

fn build(variant: &Variant, text: &str, compiler: &OsString, path: &Path) -> Result<(), ShimError> {
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
        return Err(ShimError::Compile { variant: variant.to_string(), log });
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

/// Folder of the cache, beside the running test's, so that `cargo clean` removes it.
fn directory() -> PathBuf {
    let test = std::env::current_exe().unwrap_or_default();
    let built = test.ancestors().find(|path| path.ends_with("deps")).and_then(Path::parent);
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

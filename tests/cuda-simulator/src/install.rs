//! Folders with the libraries under CUDA's names: small libraries that have the right names and
//! load the simulator, so that the engine's loader finds what it would find on a machine with CUDA.

use std::path::{Path, PathBuf};
use std::process::Command;

/// File of the simulator beside the program that installs it.
const SIMULATOR: &str = "libcuda_simulator.so";

/// Names of the driver: cudarc looks for the one without version first, which drivers have, too.
const DRIVER: [&str; 2] = ["libcuda.so", "libcuda.so.1"];
const OTHERS: [&str; 3] = ["libnvrtc.so.13", "libnvrtc-builtins.so.13.0", "libcublasLt.so.13"];

/// The libraries couldn't be installed.
#[derive(Debug)]
pub struct InstallError(String);

impl std::fmt::Display for InstallError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the simulated CUDA can't be installed: {}", self.0)
    }
}

impl std::error::Error for InstallError {}

/// Writes the libraries to folders in `folder`: `driver`, for `LD_LIBRARY_PATH`; `libraries` with
/// NVRTC and cuBLASLt, for `--cuda-libs`; `older` with those of another generation. Takes the
/// system's C++ compiler (`CXX`, else `c++`) as linker.
///
/// # Errors
/// The simulator isn't beside the running program, or the linker fails.
pub fn install(folder: &Path) -> Result<(), InstallError> {
    let [driver, libraries, older] = ["driver", "libraries", "older"].map(|name| folder.join(name));
    let simulator = simulator()?;
    for folder in [&driver, &libraries, &older] {
        std::fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    }
    DRIVER.iter().try_for_each(|name| link(&simulator, &driver, name))?;
    OTHERS.iter().try_for_each(|name| link(&simulator, &libraries, name))?;
    install_older_toolkit(&older)
}

/// Writes NVRTC and cuBLASLt as a toolkit of CUDA 12 installs them for developers. They know
/// nothing but their versions.
fn install_older_toolkit(folder: &Path) -> Result<(), InstallError> {
    const TEXT: &str = "extern \"C\" int nvrtcVersion(int* major, int* minor) { *major = 12, *minor = 8; return 0; }\n\
                        extern \"C\" unsigned long cublasLtGetVersion() { return 120804; }\n";
    let text = folder.join("text.cpp");
    std::fs::write(&text, TEXT).map_err(|error| failed(&text, &error))?;
    for name in ["libnvrtc.so", "libcublasLt.so"] {
        let mut command = linker(&format!("{name}.12"));
        compiled(name, command.arg("-fPIC").arg("-o").arg(folder.join(name)).arg(&text))?;
    }
    std::fs::remove_file(&text).map_err(|error| failed(&text, &error))
}

/// The simulator that was built with the running program: beside it, or in its folder of
/// dependencies.
fn simulator() -> Result<PathBuf, InstallError> {
    let program = std::env::current_exe().map_err(|error| InstallError(error.to_string()))?;
    let folders = program.ancestors().skip(1).flat_map(|folder| [folder.join("deps"), folder.to_owned()]);
    let found = folders.map(|folder| folder.join(SIMULATOR)).find(|file| file.is_file());
    found.ok_or_else(|| InstallError(format!("no {SIMULATOR} near {}", program.display())))
}

/// Makes a library that has nothing but a name, and needs the simulator.
fn link(simulator: &Path, folder: &Path, name: &str) -> Result<(), InstallError> {
    let mut command = linker(name);
    command.arg(format!("-Wl,-rpath,{}", simulator.parent().unwrap_or(simulator).display()));
    compiled(name, command.arg("-o").arg(folder.join(name)).arg(simulator))
}

/// A command that makes a library of this name.
fn linker(name: &str) -> Command {
    let compiler = std::env::var_os("CXX").filter(|name| !name.is_empty()).unwrap_or_else(|| "c++".into());
    let mut command = Command::new(compiler);
    command.args(["-shared", "-nostdlib", "-Wl,--no-as-needed"]).arg(format!("-Wl,-soname,{name}"));
    command
}

fn compiled(name: &str, command: &mut Command) -> Result<(), InstallError> {
    let output = command.output().map_err(|error| InstallError(format!("{command:?}: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    Err(InstallError(format!("{name}: {}", String::from_utf8_lossy(&output.stderr))))
}

fn failed(path: &Path, error: &std::io::Error) -> InstallError {
    InstallError(format!("{}: {error}", path.display()))
}

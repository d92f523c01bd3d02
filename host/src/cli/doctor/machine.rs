//! The machine: its processor, memory that becomes executable, GPUs, and the folders of caches.

use std::path::Path;

use engine::cpu;
use engine::cuda::Survey;
use parsers::CompileCache;
use system::permission::{may_write, try_executable_memory};

use super::findings::Findings;
use crate::cli::models::ModelArguments;

pub(super) fn examine(findings: &mut Findings, arguments: &ModelArguments) {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    findings.ok("cpu", format!("{cores} threads, {}", cpu::instruction_set()));
    match try_executable_memory() {
        Ok(()) => findings.ok("sandbox", "memory may become executable: compiled parsers run"),
        Err(error) => findings.fail(
            "sandbox",
            format!(
                "memory may not become executable ({error}): no parser can run; under systemd set MemoryDenyWriteExecute=no"
            ),
        ),
    }
    gpu(findings, arguments);
    cache(findings, arguments);
}

/// GPUs matter only to who asked for one, or has one.
fn gpu(findings: &mut Findings, arguments: &ModelArguments) {
    if let Err(error) = arguments.load.load_cuda_libraries() {
        return findings.fail("gpu", format!("--cuda-libs: {error}"));
    }
    let survey = Survey::of_this_machine();
    let is_asked = arguments.load.asks_for_gpu();
    match (survey.first_usable(), survey.devices.as_ref().is_ok_and(|all| !all.is_empty())) {
        (Ok(gpu), _) => match &survey.cublaslt {
            Ok(_) => findings.ok("gpu", format!("cuda:{}, {}", gpu.index, gpu.name)),
            Err(error) => findings.warn("gpu", format!("cuda:{}, {}; {error}", gpu.index, gpu.name)),
        },
        (Err(error), _) if is_asked => findings.fail("gpu", format!("--device: {error}")),
        (Err(error), true) => findings.warn("gpu", format!("none is used: {error}")),
        (Err(_), false) => findings.ok("gpu", "none: models run on the CPU"),
    }
}

fn cache(findings: &mut Findings, arguments: &ModelArguments) {
    let Some(folder) = arguments.parser_cache() else {
        return findings.warn("cache", "none: each start compiles the parsers");
    };
    if !folder.exists() {
        return made(findings, "cache", &folder, "each start compiles the parsers");
    }
    match CompileCache::open(&folder) {
        Ok(_) => findings.ok("cache", format!("compiled parsers in {}", folder.display())),
        Err(error) => findings.warn("cache", format!("{error}: each start compiles the parsers")),
    }
}

/// A file or folder that the server would make; where it can't, `loss` is what follows.
pub(super) fn made(findings: &mut Findings, about: &'static str, path: &Path, loss: &str) {
    let above = path.ancestors().skip(1).find(|above| above.as_os_str().is_empty() || above.exists());
    let above = above.filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if may_write(above) && above.is_dir() {
        findings.ok(about, format!("{} will be made", path.display()));
    } else {
        findings.warn(about, format!("{} can't be made in {}: {loss}", path.display(), above.display()));
    }
}

//! `host devices`: the devices of this machine, and what its GPUs still need.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use engine::cuda::{CudaError, CudaVersion, DeviceInfo, Survey, load_libraries};

use super::table::Table;

#[derive(clap::Args)]
pub(super) struct DevicesArguments {
    #[command(flatten)]
    libraries: CudaLibraries,
}

/// Where CUDA's libraries are that the loader doesn't find by itself.
#[derive(clap::Args)]
pub(super) struct CudaLibraries {
    /// Folder of libnvrtc.so.13, which compiles the kernels of GPUs at their first start (wheel
    /// nvidia-cuda-nvrtc==13.0.88), and of libcublasLt.so.13, which computes prompts faster (wheel
    /// nvidia-cublas==13.0.2.14) [default: the system's library path].
    #[arg(long, value_name = "DIR")]
    cuda_libs: Option<PathBuf>,
}

impl CudaLibraries {
    /// Loads the libraries, so that later lookups find them.
    ///
    /// # Errors
    /// The given folder lacks the libraries.
    pub(super) fn load(&self) -> Result<(), CudaError> {
        self.cuda_libs.as_deref().map_or(Ok(()), load_libraries)
    }
}

/// Lists the devices. Missing drivers and GPUs are no error; a given folder that lacks the
/// libraries is.
pub(super) fn run(arguments: &DevicesArguments) -> anyhow::Result<ExitCode> {
    arguments.libraries.load()?;
    print(&mut std::io::stdout().lock(), &Machine::this(), &Survey::of_this_machine())?;
    Ok(ExitCode::SUCCESS)
}

/// Name of the processor and size of the memory, empty where the system doesn't tell.
#[derive(Default)]
struct Machine {
    processor: String,
    memory: String,
}

impl Machine {
    fn this() -> Self {
        let read = |file, field| {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            let line =
                text.lines().find(|line| line.starts_with(field)).and_then(|line| line.split_once(':'));
            line.map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
        };
        let kib = read("/proc/meminfo", "MemTotal").split(' ').next().and_then(|kib| kib.parse::<u64>().ok());
        let memory = kib.map(|kib| format!("{} MiB", kib >> 10)).unwrap_or_default();
        Self { processor: read("/proc/cpuinfo", "model name"), memory }
    }
}

fn print(out: &mut impl Write, machine: &Machine, survey: &Survey) -> std::io::Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let default =
        survey.first_usable().map_or_else(|_| "cpu".to_owned(), |gpu| format!("cuda:{}", gpu.index));
    let mut table = Table::new(["DEVICE", "NAME", "MEMORY", "PROCESSORS", "COMPUTE"]);
    let Machine { processor, memory } = machine;
    table.row(["cpu", processor, memory, &cores.to_string(), ""].map(str::to_owned));
    for gpu in survey.devices.iter().flatten() {
        table.row(row(gpu));
    }
    writeln!(out, "{table}")?;
    writeln!(out, "auto     {default}")?;
    writeln!(out, "driver   {}", driver(survey))?;
    writeln!(out, "nvrtc    {}", library(&survey.nvrtc, survey))?;
    writeln!(out, "cublaslt {}", library(&survey.cublaslt, survey))?;
    for gpu in survey.devices.iter().flatten() {
        if let Err(error) = survey.device(gpu.index) {
            writeln!(out, "{error}")?;
        }
    }
    Ok(())
}

fn driver(survey: &Survey) -> String {
    survey.driver.as_ref().map_or_else(ToString::to_string, |version| format!("CUDA {version}"))
}

/// Version of a library, or the error. Without a driver the error is shortened, since only GPUs
/// need the library.
fn library(found: &Result<CudaVersion, CudaError>, survey: &Survey) -> String {
    match (found, &survey.driver) {
        (Ok(version), _) => format!("CUDA {version}"),
        (Err(_), Err(_)) => "not found".to_owned(),
        (Err(error), Ok(_)) => error.to_string(),
    }
}

fn row(gpu: &DeviceInfo) -> [String; 5] {
    let mode = if gpu.exclusive { ", one process at a time" } else { "" };
    [
        format!("cuda:{}", gpu.index),
        format!("{}{mode}", gpu.name),
        format!("{} MiB", gpu.memory_bytes >> 20),
        gpu.multiprocessors.to_string(),
        format!("{}.{}", gpu.compute.0, gpu.compute.1),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(survey: &Survey) -> String {
        let mut out = Vec::new();
        let machine = Machine { processor: "a processor".to_owned(), memory: "512 MiB".to_owned() };
        print(&mut out, &machine, survey).expect("memory takes it");
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn gpus_are_listed_with_what_they_lack() {
        let gpu = |index, name: &str, compute| DeviceInfo {
            index,
            name: name.to_owned(),
            memory_bytes: 80 << 30,
            compute,
            multiprocessors: 132,
            block_shared_bytes: 227 << 10,
            exclusive: index == 1,
        };
        let devices = Ok(vec![gpu(0, "old", (7, 5)), gpu(1, "new", (9, 0))]);
        let survey = Survey {
            driver: Ok(CudaVersion::NEEDED),
            devices,
            nvrtc: Err(CudaError::NoNvrtc),
            cublaslt: Err(CudaError::NoCublasLt),
        };
        let text = printed(&survey);
        let cpu: Vec<_> = text.lines().nth(1).map(|line| line.split("  ").collect()).unwrap_or_default();
        assert_eq!(cpu[0], "cpu", "{text}");
        assert!(text.contains("a processor") && text.contains("512 MiB"), "{text}");
        assert!(text.contains("driver   CUDA 13.0\n"), "{text}");
        assert!(text.contains("pip install nvidia-cuda-nvrtc==13.0.88"), "{text}");
        assert!(text.contains("cublaslt libcublasLt.so.13 not found: own kernels"), "{text}");
        assert!(text.contains("auto     cuda:1\n"), "{text}");
        assert!(text.contains("cuda:1  new, one process at a time  81920 MiB  132         9.0\n"), "{text}");
        assert!(
            text.ends_with(
                "GPU 0 (old) has compute capability 7.5; needs 8.0: choose another, or --device cpu\n"
            ),
            "{text}"
        );
    }

    #[test]
    fn a_machine_without_a_driver_has_its_cpu() {
        let none = || Err(CudaError::NoDriver);
        let text = printed(&Survey {
            driver: none(),
            devices: Err(CudaError::NoDriver),
            nvrtc: Err(CudaError::NoNvrtc),
            cublaslt: Err(CudaError::NoCublasLt),
        });
        assert!(
            text.contains("\ndriver   no NVIDIA driver (libcuda.so.1 not found); --device cpu works\n"),
            "{text}"
        );
        assert!(
            text.contains("\nauto     cpu\ndriver")
                && text.contains("nvrtc    not found\ncublaslt not found\n")
                && !text.contains("cuda:"),
            "{text}"
        );
    }
}

//! Loads a model's runner on a device of this machine, with weights from files or random ones.
//! Called for local engines and for measurements.

use engine::cpu::{CpuOptions, CpuRunner, Numerics, whole_context_bytes};
use engine::cuda::{CudaError, CudaOptions, CudaRunner, DeviceInfo, Survey, choose_device};
use engine::models::{EngineProgress, LoadError, ModelConfig, Weights};
use engine::{DeviceChoice, LocalRunner, ModelFiles};

use super::devices::LocalDevices;
use super::load_error::ModelLoadError;
use super::load_progress::LoadProgress;
use super::locate::locate;
use super::options::{KvCacheBytes, LoadFormat};
use hub::{self, NeededFiles};

/// Seed of random weights, which are the same in every process, so that measurements can be
/// compared.
const SEED: u64 = 1;

/// Options of a runner.
#[derive(Debug, Clone, Copy)]
pub struct RunnerOptions {
    /// Source of the weights.
    pub load_format: LoadFormat,
    /// Device that runs the model.
    pub device: DeviceChoice,
    /// Size of the KV cache.
    pub kv_cache_bytes: KvCacheBytes,
    /// Most tokens of prompt and answer together; `None`: the model's own limit.
    pub context: Option<usize>,
    /// Number types of the CPU.
    pub numerics: Numerics,
}

impl RunnerOptions {
    /// Loads a model on the chosen device. `auto` takes the CPU if the GPU can't run the model, or
    /// if the kernels' compiler is missing or too old.
    pub(super) fn load(
        self,
        files: &ModelFiles,
        devices: &LocalDevices,
        progress: &mut dyn FnMut(EngineProgress),
    ) -> Result<LocalRunner, LoadError> {
        let config = ModelConfig::read(files)?;
        let weights = match self.load_format {
            LoadFormat::Auto => Weights::open(files)?,
            LoadFormat::Dummy => Weights::random_as(config.quantization, SEED),
        };
        let gpu = choose_device(self.device, Survey::of_this_machine, cpu_only(self.numerics))?;
        let Some(gpu) = gpu else { return self.on_cpu(&config, &weights, devices, progress) };
        match self.on_gpu(&gpu, &config, &weights, devices, progress) {
            Err(error) if self.device == DeviceChoice::Auto && is_lack(&error) => {
                tracing::warn!("no GPU is used: {error}");
                self.on_cpu(&config, &weights, devices, progress)
            }
            done => done,
        }
    }

    fn on_cpu(
        self,
        config: &ModelConfig,
        weights: &Weights,
        devices: &LocalDevices,
        progress: &mut dyn FnMut(EngineProgress),
    ) -> Result<LocalRunner, LoadError> {
        let options = cpu_options(config, self.kv_cache_bytes, self.context, self.numerics)?;
        let runner = CpuRunner::new(config, weights, devices.threads()?, &options, progress)?;
        Ok(LocalRunner::Cpu(Box::new(runner)))
    }

    fn on_gpu(
        self,
        gpu: &DeviceInfo,
        config: &ModelConfig,
        weights: &Weights,
        devices: &LocalDevices,
        progress: &mut dyn FnMut(EngineProgress),
    ) -> Result<LocalRunner, LoadError> {
        let (kv_cache_bytes, context) = (self.kv_cache_bytes.gpu, self.context);
        let (kernels, deterministic) = (devices.kernels(), devices.is_deterministic());
        let options =
            CudaOptions { kv_cache_bytes, context, deterministic, kernels, ..CudaOptions::default() };
        let runner = CudaRunner::new(gpu, config, weights, &options, progress)?;
        Ok(LocalRunner::Cuda(Box::new(runner)))
    }
}

/// Options of the CPU's runner, whose KV cache holds the whole context if `sizes` allow that.
pub(super) fn cpu_options(
    config: &ModelConfig,
    sizes: KvCacheBytes,
    context: Option<usize>,
    numerics: Numerics,
) -> Result<CpuOptions, LoadError> {
    let options = CpuOptions { context, numerics, ..CpuOptions::default() };
    let whole = whole_context_bytes(config, &options)?;
    Ok(CpuOptions { kv_cache_bytes: whole.min(sizes.cpu_most).max(sizes.cpu), ..options })
}

/// Whether the error is a lack of support on the GPU, so that the CPU may run the model.
fn is_lack(error: &LoadError) -> bool {
    matches!(
        error,
        LoadError::Unsupported { .. }
            | LoadError::Cuda(
                CudaError::NoNvrtc | CudaError::OldNvrtc { .. } | CudaError::SharedMemory { .. }
            )
    )
}

/// Returns the first switch that was given for number types that only the CPU has.
pub(super) fn cpu_only(numerics: Numerics) -> Option<&'static str> {
    let Numerics { kv_cache_dtype, dtype, quantize, repack } = Numerics::default();
    let differs = [
        (numerics.quantize != quantize, "--quantize"),
        (numerics.repack != repack, "--repack"),
        (numerics.dtype != dtype, "--dtype"),
        (numerics.kv_cache_dtype != kv_cache_dtype, "--kv-cache-dtype"),
    ];
    differs.into_iter().find_map(|(differs, switch)| differs.then_some(switch))
}

/// Loads the runner of the model that `--model` names (`None`: the embedded one), without
/// tokenizer, template and parser. What the cache lacks of a model of the hub is downloaded first.
pub fn load_runner(
    model: Option<&str>,
    options: RunnerOptions,
    devices: &LocalDevices,
    progress: &mut dyn FnMut(LoadProgress<'_>),
) -> Result<LocalRunner, ModelLoadError> {
    let need = match options.load_format {
        LoadFormat::Auto => NeededFiles::Weights,
        LoadFormat::Dummy => NeededFiles::Prompt,
    };
    hub::fetch_missing(model, need, &mut |download| progress(LoadProgress::Download(download)))?;
    Ok(options.load(&locate(model)?.files, devices, &mut |parts| progress(LoadProgress::Engine(parts)))?)
}

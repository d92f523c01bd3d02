//! Switches for loading models on this machine's devices, shared by `serve` and `bench model`.

use std::path::{Path, PathBuf};

use engine::cpu::{InputDtype, KvDtype, MAX_THREADS, Numerics, QuantizeTo, Repack};
use engine::cuda::CudaError;
use engine::{DeviceChoice, models};
use model::{KvCacheBytes, LoadFormat, LocalDevices, ModelLoadError, free_memory};

use super::cache;
use super::devices::CudaLibraries;
use super::per_model::{ForModel, PerModel, for_model};
use super::values::{dtype, kv_cache_dtype, load_format, number, parsed, quantize, repack};

#[derive(clap::Args)]
pub(super) struct LoadArguments {
    /// Source of the weights: `auto` reads the model's files, `dummy` makes random weights of the
    /// types in its config.json, to measure a model without downloading it [default: auto].
    #[arg(long, value_name = "[NAME=]auto|dummy", value_parser = for_model(load_format))]
    load_format: Vec<ForModel<LoadFormat>>,
    /// Device that runs the model: `cpu`, a GPU (`cuda` or `cuda:N`, listed by the command `devices`), or
    /// `auto`, the first usable GPU, else the CPU [default: cpu].
    #[arg(long, value_name = "[NAME=]auto|cpu|cuda[:N]", value_parser = for_model(parsed::<DeviceChoice>))]
    device: Vec<ForModel<DeviceChoice>>,
    #[command(flatten)]
    cuda: CudaLibraries,
    /// Cache folder for the compiled kernels of GPUs, or `none` [default: sluice/kernels in the
    /// user's cache folder].
    #[arg(long, value_name = "DIR|none")]
    kernel_cache: Option<PathBuf>,
    /// On GPUs, use only kernels whose sums don't depend on the rest of the batch: the same request
    /// with the same seed then gets the same answer under any load, as it always does on the CPU.
    /// Slower.
    #[arg(long)]
    pub(super) deterministic: bool,
    /// CPU threads, shared by all models, 1 to 512 [default: all cores].
    #[arg(long, value_name = "THREADS", value_parser = number::<usize>(1..=MAX_THREADS as u64))]
    threads: Option<usize>,
    /// Memory of the KV caches of all models together, in MiB [default: on the CPU 1024, or as much
    /// as a model's whole context takes, at most a quarter of the free memory (at least 64); on a
    /// GPU, what is free after loading].
    #[arg(long, value_name = "MIB", value_parser = number::<usize>(1..=MAX_KV_CACHE_MIB))]
    kv_cache: Option<usize>,
    /// Type of keys and values in the KV cache on the CPU: `f16`, or `f32` with twice the memory
    /// [default: f16].
    #[arg(long, value_name = "[NAME=]f16|f32", value_parser = for_model(kv_cache_dtype))]
    kv_cache_dtype: Vec<ForModel<KvDtype>>,
    /// Type that linear layers on the CPU round their inputs to: `auto` is bf16 for weights in
    /// bf16, MXFP4 or FP8, no coarser than such models were trained with; `f32` doesn't round and
    /// is slower [default: auto].
    #[arg(long, value_name = "[NAME=]auto|f32", value_parser = for_model(dtype))]
    dtype: Vec<ForModel<InputDtype>>,
    /// Quantise the weights on the CPU while loading: 8 or 4 bits with scales; the head gets 8.
    /// Less memory and less time per token (costs: docs/quantization.md) [default: as stored].
    #[arg(long, value_name = "[NAME=]q8|q4", value_parser = for_model(quantize))]
    quantize: Vec<ForModel<QuantizeTo>>,
    /// Whether bf16 weights are repacked while loading, on CPUs with bf16 instructions: faster
    /// prompts and batches. `never` uses them from the mapped file, so that loading takes no time
    /// and processes share the memory [default: auto].
    #[arg(long, value_name = "[NAME=]auto|never", value_parser = for_model(repack))]
    repack: Vec<ForModel<Repack>>,
    /// Context length: most tokens of prompt and answer together, at most the model's own [default:
    /// the model's own].
    #[arg(long, value_name = "[NAME=]TOKENS", value_parser = for_model(number::<usize>(1..=MAX_CONTEXT)))]
    context: Vec<ForModel<usize>>,
}

/// Default size of the KV caches on the CPU, in MiB, where memory isn't scarce.
const KV_CACHE_MIB: usize = 1024;
/// Smallest default, in MiB: less memory is too little for any model that is worth to be served.
const LEAST_KV_CACHE_MIB: usize = 64;
/// Part of the free memory that the KV caches take at most by default.
const FREE_PARTS: usize = 4;
/// Largest KV cache in MiB (16 TiB): more memory than machines have, and its number of bytes can't
/// overflow.
const MAX_KV_CACHE_MIB: u64 = 1 << 24;
/// Largest context that may be requested: longer than that of any model. The model's own limit is
/// checked after it is loaded.
const MAX_CONTEXT: u64 = 1 << 24;

/// Values of the switches, by model.
pub(super) struct PerModelLoad<'a> {
    load_format: PerModel<'a, LoadFormat>,
    device: PerModel<'a, DeviceChoice>,
    context: PerModel<'a, usize>,
    kv_cache_dtype: PerModel<'a, KvDtype>,
    dtype: PerModel<'a, InputDtype>,
    quantize: PerModel<'a, QuantizeTo>,
    repack: PerModel<'a, Repack>,
}

impl LoadArguments {
    pub(super) fn threads(&self) -> Option<usize> {
        self.threads
    }

    /// Folder for compiled kernels; none if they aren't cached.
    pub(super) fn kernel_cache(&self) -> Option<PathBuf> {
        cache::folder(self.kernel_cache.as_deref(), "kernels")
    }

    /// Devices on which models are loaded.
    pub(super) fn devices(&self) -> LocalDevices {
        LocalDevices::new(self.threads, self.kernel_cache()).deterministic(self.deterministic)
    }

    /// Whether a model is to run on a GPU and nowhere else.
    pub(super) fn asks_for_gpu(&self) -> bool {
        self.device.iter().any(|given| matches!(given.value, DeviceChoice::Cuda(_)))
    }

    /// Loads CUDA's libraries from the given folder, if one is given.
    ///
    /// # Errors
    /// The folder lacks the libraries.
    pub(super) fn load_cuda_libraries(&self) -> Result<(), CudaError> {
        self.cuda.load()
    }

    /// Size of the KV caches of all models together, in bytes.
    pub(super) fn kv_cache_bytes(&self) -> usize {
        self.kv_cache.map_or_else(|| default_kv_cache(free()), |mib| mib << 20)
    }

    /// Size of one model's KV cache, on the CPU or on a GPU. On a GPU it counts only if the
    /// operator set a size.
    pub(super) fn kv_cache_of(&self, share: usize) -> KvCacheBytes {
        KvCacheBytes { cpu: share, cpu_most: 0, gpu: self.kv_cache.map(|_| share as u64) }
    }

    /// Most memory that the KV caches of all models together take on the CPU to hold whole
    /// contexts, in bytes; no more than the size that the operator set.
    pub(super) fn kv_cache_most(&self) -> usize {
        match self.kv_cache {
            Some(_) => 0,
            None => free().unwrap_or_default() / FREE_PARTS,
        }
    }

    /// Resolves the switches for `models`.
    ///
    /// # Errors
    /// A setting names an unknown model, or is given twice for one model.
    pub(super) fn per_model(&self, models: &[Vec<String>]) -> anyhow::Result<PerModelLoad<'_>> {
        Ok(PerModelLoad {
            load_format: PerModel::single("--load-format", &self.load_format, models)?,
            device: PerModel::single("--device", &self.device, models)?,
            context: PerModel::single("--context", &self.context, models)?,
            kv_cache_dtype: PerModel::single("--kv-cache-dtype", &self.kv_cache_dtype, models)?,
            dtype: PerModel::single("--dtype", &self.dtype, models)?,
            quantize: PerModel::single("--quantize", &self.quantize, models)?,
            repack: PerModel::single("--repack", &self.repack, models)?,
        })
    }
}

/// Free memory of this machine or container, in bytes.
fn free() -> Option<usize> {
    free_memory(Path::new("/")).and_then(|bytes| usize::try_from(bytes).ok())
}

/// Default size of the KV caches on the CPU, in bytes, where this much memory is free: a small
/// container has to hold the weights, too.
fn default_kv_cache(free: Option<usize>) -> usize {
    let most = KV_CACHE_MIB << 20;
    free.map_or(most, |free| (free / FREE_PARTS).clamp(LEAST_KV_CACHE_MIB << 20, most))
}

impl PerModelLoad<'_> {
    pub(super) fn load_format(&self, model: usize) -> LoadFormat {
        self.load_format.one(model).copied().unwrap_or_default()
    }

    pub(super) fn device(&self, model: usize) -> DeviceChoice {
        self.device.one(model).copied().unwrap_or_default()
    }

    pub(super) fn context(&self, model: usize) -> Option<usize> {
        self.context.one(model).copied()
    }

    pub(super) fn numerics(&self, model: usize) -> Numerics {
        Numerics {
            kv_cache_dtype: self.kv_cache_dtype.one(model).copied().unwrap_or_default(),
            dtype: self.dtype.one(model).copied().unwrap_or_default(),
            quantize: self.quantize.one(model).copied(),
            repack: self.repack.one(model).copied().unwrap_or_default(),
        }
    }
}

/// Adds the name of the switch that can fix the error.
pub(super) fn with_switch(error: ModelLoadError) -> anyhow::Error {
    let switch = match error.cause() {
        ModelLoadError::Engine(models::LoadError::Threads { .. }) => "--threads",
        ModelLoadError::Engine(models::LoadError::Context { .. }) => "--context",
        ModelLoadError::Engine(
            models::LoadError::CacheTooSmall { .. } | models::LoadError::CacheTooLarge { .. },
        ) => "--kv-cache",
        ModelLoadError::Engine(models::LoadError::Quantize { .. }) => "--quantize",
        ModelLoadError::Engine(models::LoadError::Cuda(_) | models::LoadError::Unsupported { .. }) => {
            "--device"
        }
        _ => return error.into(),
    };
    anyhow::Error::from(error).context(switch)
}

#[cfg(test)]
mod tests {
    use super::default_kv_cache;

    #[test]
    fn default_cache_is_a_quarter_of_memory_up_to_a_gib() {
        let mib = |free: usize| default_kv_cache(Some(free << 20)) >> 20;
        assert_eq!(
            [mib(0), mib(256), mib(512), mib(2048), mib(4096), mib(1 << 20)],
            [64, 64, 128, 512, 1024, 1024]
        );
        assert_eq!(default_kv_cache(None), 1 << 30);
    }
}

//! The switches that say how models are loaded on this machine's CPU: those of `serve` and of `bench model`.

use engine::cpu::{InputDtype, KvDtype, MAX_THREADS, Numerics, QuantizeTo};
use engine::models;
use host::model::{LoadFormat, ModelLoadError};

use super::per_model::{ForModel, PerModel, for_model};
use super::values::{dtype, kv_cache_dtype, load_format, number, quantize};

#[derive(clap::Args)]
pub(super) struct LoadArguments {
    /// Where weights come from: `auto` is the model's files, `dummy` makes random ones of the types that its config.json says, to
    /// measure without a download [default: auto].
    #[arg(long, value_name = "[NAME=]auto|dummy", value_parser = for_model(load_format))]
    load_format: Vec<ForModel<LoadFormat>>,
    /// Threads of the CPU, which models take turns at, 1 to 512 [default: all cores].
    #[arg(long, value_name = "THREADS", value_parser = number::<usize>(1..=MAX_THREADS as u64))]
    threads: Option<usize>,
    /// Memory of the KV caches of all models together, in MiB.
    #[arg(long, default_value = "1024", value_name = "MIB", value_parser = number::<usize>(1..=MAX_KV_CACHE_MIB))]
    kv_cache: usize,
    /// What the CPU keeps keys and values in: `f16`, or `f32` in twice the memory [default: f16].
    #[arg(long, value_name = "[NAME=]f16|f32", value_parser = for_model(kv_cache_dtype))]
    kv_cache_dtype: Vec<ForModel<KvDtype>>,
    /// What linear layers on the CPU round their inputs to: `auto` to bf16 where weights are bf16 or MXFP4, as such models were trained;
    /// `f32` to nothing, which is slower [default: auto].
    #[arg(long, value_name = "[NAME=]auto|f32", value_parser = for_model(dtype))]
    dtype: Vec<ForModel<InputDtype>>,
    /// Fewer bits for the weights on the CPU, made at the start: 8 or 4, and scales; the head has 8. Takes less memory and less time for
    /// each token (docs/quantization.md says what it costs) [default: as they are stored].
    #[arg(long, value_name = "[NAME=]q8|q4", value_parser = for_model(quantize))]
    quantize: Vec<ForModel<QuantizeTo>>,
    /// Tokens of prompt and answer together, no more than the model has [default: what it has].
    #[arg(long, value_name = "[NAME=]TOKENS", value_parser = for_model(number::<usize>(1..=MAX_CONTEXT)))]
    context: Vec<ForModel<usize>>,
}

/// The largest KV cache, 16 TiB: more memory than machines have, and far from what a number of bytes can be.
const MAX_KV_CACHE_MIB: u64 = 1 << 24;
/// The longest context that may be asked for, beyond that of any model; the model's own is known once it is loaded.
const MAX_CONTEXT: u64 = 1 << 24;

/// The same by model.
pub(super) struct PerModelLoad<'a> {
    load_format: PerModel<'a, LoadFormat>,
    context: PerModel<'a, usize>,
    kv_cache_dtype: PerModel<'a, KvDtype>,
    dtype: PerModel<'a, InputDtype>,
    quantize: PerModel<'a, QuantizeTo>,
}

impl LoadArguments {
    pub(super) fn threads(&self) -> Option<usize> {
        self.threads
    }

    /// Of all models together.
    pub(super) fn kv_cache_bytes(&self) -> usize {
        self.kv_cache << 20
    }

    /// # Errors
    /// A setting is for a model that isn't there, or is there twice.
    pub(super) fn per_model(&self, models: &[Vec<String>]) -> anyhow::Result<PerModelLoad<'_>> {
        Ok(PerModelLoad {
            load_format: PerModel::single("--load-format", &self.load_format, models)?,
            context: PerModel::single("--context", &self.context, models)?,
            kv_cache_dtype: PerModel::single("--kv-cache-dtype", &self.kv_cache_dtype, models)?,
            dtype: PerModel::single("--dtype", &self.dtype, models)?,
            quantize: PerModel::single("--quantize", &self.quantize, models)?,
        })
    }
}

impl PerModelLoad<'_> {
    pub(super) fn load_format(&self, model: usize) -> LoadFormat {
        self.load_format.one(model).copied().unwrap_or_default()
    }

    pub(super) fn context(&self, model: usize) -> Option<usize> {
        self.context.one(model).copied()
    }

    pub(super) fn numerics(&self, model: usize) -> Numerics {
        Numerics {
            kv_cache_dtype: self.kv_cache_dtype.one(model).copied().unwrap_or_default(),
            dtype: self.dtype.one(model).copied().unwrap_or_default(),
            quantize: self.quantize.one(model).copied(),
        }
    }
}

/// An error of the engine with the switch that it is about.
pub(super) fn with_switch(error: ModelLoadError) -> anyhow::Error {
    let switch = match error.cause() {
        ModelLoadError::Engine(models::LoadError::Threads { .. }) => "--threads",
        ModelLoadError::Engine(models::LoadError::Context { .. }) => "--context",
        ModelLoadError::Engine(
            models::LoadError::CacheTooSmall { .. } | models::LoadError::CacheTooLarge { .. },
        ) => "--kv-cache",
        ModelLoadError::Engine(models::LoadError::Quantize { .. }) => "--quantize",
        _ => return error.into(),
    };
    anyhow::Error::from(error).context(switch)
}

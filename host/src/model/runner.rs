//! A model on this machine's CPU: its configuration, and its weights, from files or made up. Called for engines that serve, and for measurements.

use engine::ModelFiles;
use engine::cpu::{CpuOptions, CpuRunner, Numerics, Threads};
use engine::models::{LoadError, ModelConfig, Progress, Weights};

use super::load_error::ModelLoadError;
use super::locate::locate;
use super::options::LoadFormat;

/// Random weights are the same in every process, so that measurements of them can be compared.
const SEED: u64 = 1;

/// How a model is loaded.
#[derive(Debug, Clone, Copy)]
pub struct RunnerOptions {
    /// Where weights come from.
    pub load_format: LoadFormat,
    /// Bytes of the KV cache.
    pub kv_cache_bytes: usize,
    /// Bound on prompt and answer together; none: the model's.
    pub context: Option<usize>,
    /// Tokens of a step.
    pub batch_tokens: usize,
    /// What it computes in.
    pub numerics: Numerics,
}

impl RunnerOptions {
    pub(super) fn load(
        self,
        files: &ModelFiles,
        threads: &Threads,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<CpuRunner, LoadError> {
        let Self { load_format, kv_cache_bytes, context, batch_tokens, numerics } = self;
        let config = ModelConfig::read(files)?;
        let weights = match load_format {
            LoadFormat::Auto => Weights::open(files)?,
            LoadFormat::Dummy => Weights::random_as(config.quantization, SEED),
        };
        let options = CpuOptions { kv_cache_bytes, context, batch_tokens, numerics };
        CpuRunner::new(&config, &weights, threads, &options, progress)
    }
}

/// Loads the model that `--model` names (none: the embedded one), without tokenizer, template and parser.
pub fn load_runner(
    model: Option<&str>,
    options: RunnerOptions,
    threads: &Threads,
    progress: &mut dyn FnMut(Progress),
) -> Result<CpuRunner, ModelLoadError> {
    Ok(options.load(&locate(model)?.files, threads, progress)?)
}

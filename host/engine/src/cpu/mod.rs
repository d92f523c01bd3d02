//! The CPU: models run with the `kernels` package's CPU operations and a paged KV cache in memory.
//!
//! Invariant: a batch is checked before anything is computed; what is wrong with it is an error, never a panic. Weights stay
//! where they are mapped. Called by whoever starts an engine ([`load`]), then by the scheduler ([`crate::batch::Runner`]).

mod backend;
mod check;
mod storage;

pub use kernels::cpu::MAX_THREADS;
use kernels::cpu::{BLOCK_SIZE, Cpu, KvCache, KvShape};

use crate::batch::{Batch, RunError, Runner, RunnerShape};
use crate::files::ModelFiles;
use crate::models::{LoadError, Model, ModelConfig, Progress, Weights};

use backend::CpuBackend;

/// What a CPU runner may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuOptions {
    /// Threads that compute, the engine's own among them; 1 to [`MAX_THREADS`].
    pub threads: usize,
    /// Memory for keys and values.
    pub kv_cache_bytes: usize,
    /// A bound on a sequence's length; at least one, at most the model's own.
    pub context: Option<usize>,
}

impl Default for CpuOptions {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self { threads: threads.min(MAX_THREADS), kv_cache_bytes: 1 << 30, context: None }
    }
}

/// A model on the CPU.
#[derive(Debug)]
pub struct CpuRunner {
    model: Model<CpuBackend>,
    backend: CpuBackend,
    shape: RunnerShape,
}

/// Loads a model directory (or the model in the binary).
pub fn load(
    files: &ModelFiles,
    options: &CpuOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<CpuRunner, LoadError> {
    let config = ModelConfig::read(files)?;
    let weights = Weights::open(files)?;
    CpuRunner::new(&config, &weights, options, progress)
}

impl CpuRunner {
    /// A model from its configuration and weights, wherever they come from.
    pub fn new(
        config: &ModelConfig,
        weights: &Weights,
        options: &CpuOptions,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, LoadError> {
        let context = context(config, options)?;
        let mut backend = CpuBackend::new(threads(options)?, cache(config, options)?);
        let model = Model::load(&mut backend, config, weights, progress)?;
        let shape = RunnerShape {
            name: backend.name(),
            vocab: config.vocab(),
            context,
            block_size: BLOCK_SIZE,
            blocks: backend.blocks(),
        };
        Ok(Self { model, backend, shape })
    }
}

impl Runner for CpuRunner {
    fn shape(&self) -> &RunnerShape {
        &self.shape
    }

    fn run(&mut self, batch: &Batch) -> Result<&[f32], RunError> {
        check::batch(batch, &self.shape).map_err(RunError)?;
        if batch.tokens.is_empty() {
            return Ok(&[]);
        }
        self.model.forward(&mut self.backend, batch)
    }
}

/// As many threads as were asked for.
fn threads(options: &CpuOptions) -> Result<Cpu, LoadError> {
    let asked = options.threads;
    if !(1..=MAX_THREADS).contains(&asked) {
        return Err(LoadError::Threads { asked, most: MAX_THREADS });
    }
    let cpu = Cpu::new(asked);
    let started = cpu.threads();
    if started < asked { Err(LoadError::Threads { asked, most: started }) } else { Ok(cpu) }
}

/// The length that sequences may have.
fn context(config: &ModelConfig, options: &CpuOptions) -> Result<usize, LoadError> {
    let most = config.context();
    match options.context {
        Some(asked) if !(1..=most).contains(&asked) => Err(LoadError::Context { asked, most }),
        asked => Ok(asked.unwrap_or(most)),
    }
}

/// As many blocks as the memory allows.
fn cache(config: &ModelConfig, options: &CpuOptions) -> Result<KvCache, LoadError> {
    let (layers, kv_heads, head_dim) = config.kv_heads();
    let shape = KvShape { layers, blocks: 0, kv_heads, head_dim };
    let block = shape.block_bytes().unwrap_or(usize::MAX);
    // Slots are u32.
    let blocks = (options.kv_cache_bytes / block).min(u32::MAX as usize / BLOCK_SIZE);
    if blocks == 0 {
        return Err(LoadError::CacheTooSmall { bytes: options.kv_cache_bytes, block });
    }
    let bytes = options.kv_cache_bytes as u64;
    KvCache::new(KvShape { blocks, ..shape }).ok_or(LoadError::CacheTooLarge { bytes })
}

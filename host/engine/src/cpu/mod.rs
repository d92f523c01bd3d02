//! The CPU: models run with the `kernels` package's CPU operations and a paged KV cache in memory,
//! and for layers that keep states, with a pool of these in the same memory.
//!
//! Invariants: a batch is checked before anything is computed; an invalid batch is an error, never
//! a panic. Weights are read from the mapped files, except those that `storage.rs` copies. Nothing
//! is computed ahead: `forward` returns when the logits are computed. Called by whoever starts an
//! engine ([`load`]), then by the engine's loop ([`Runner`]).

mod backend;
mod bandwidth;
mod mla;
mod moe;
mod op_clock;
mod options;
mod ropes;
mod sampler;
mod states;
mod step;
mod storage;
mod tensor;
mod threads;

use std::sync::Arc;

pub use kernels::cpu::MAX_THREADS;
use kernels::cpu::{BLOCK_SIZE, Isa, KvCache, KvShape};

use crate::batch::Batch;
use crate::device_lock::DeviceLock;
use crate::files::ModelFiles;
use crate::models::{Decoder, EngineProgress, LayerCache, LoadError, ModelConfig, OpCosts, Weights};
use crate::runner::{Draws, RunError, Runner, RunnerShape, Sampled};

use backend::CpuBackend;
pub use bandwidth::ReadBuffer;
pub use options::{CpuOptions, InputDtype, KvDtype, Numerics, QuantizeTo, Repack};
pub(crate) use sampler::Sampler;
use states::LaneStates;
use storage::Storage;
pub use threads::Threads;

/// Most bytes of the logits in a step that score tokens of prompts. Fewer rows than this allows
/// read the head's weights more often.
const SCORE_BYTES: usize = 64 << 20;

/// A model on the CPU.
#[derive(Debug)]
pub struct CpuRunner {
    model: Decoder<CpuBackend>,
    backend: CpuBackend,
    device_lock: Arc<DeviceLock>,
    shape: RunnerShape,
    sampler: Sampler,
    sampled: Sampled,
    /// Number of rows of logits in a step that isn't sampled yet.
    forwarded: Option<usize>,
    /// Whether a step was sampled that isn't collected yet.
    drawn: bool,
}

/// Loads a model directory (or the model in the binary).
pub fn load(
    files: &ModelFiles,
    threads: &Threads,
    options: &CpuOptions,
    progress: &mut dyn FnMut(EngineProgress),
) -> Result<CpuRunner, LoadError> {
    let config = ModelConfig::read(files)?;
    let weights = Weights::open(files)?;
    CpuRunner::new(&config, &weights, threads, options, progress)
}

impl CpuRunner {
    /// A model from its configuration and weights, wherever they come from.
    pub fn new(
        config: &ModelConfig,
        weights: &Weights,
        threads: &Threads,
        options: &CpuOptions,
        progress: &mut dyn FnMut(EngineProgress),
    ) -> Result<Self, LoadError> {
        let context = context(config, options)?;
        let config = &ModelConfig { context, ..config.clone() };
        let memory = memory(config, options)?;
        let storage = Storage::new(options, weights);
        let mut backend = CpuBackend::new(Arc::clone(&threads.cpu), memory, storage, options);
        let model = Decoder::load(&mut backend, config, weights, progress)?;
        if storage.copies(&threads.cpu) || weights.are_blocks() {
            weights.release_pages();
        }
        let states = backend.states.as_ref().map(LaneStates::shape);
        let shape = RunnerShape {
            name: backend.name(),
            vocab: config.vocab,
            context,
            batch_tokens: backend.batch_tokens,
            score_rows: (SCORE_BYTES / (config.vocab * size_of::<f32>())).max(1),
            block_size: BLOCK_SIZE,
            blocks: backend.blocks(),
            // Without states a lane takes next to no memory here: one for each block, as no more
            // sequences can hold blocks.
            lanes: states.map_or(backend.blocks(), |states| states.lanes),
            states: states.map(states::shape_for_runner),
            ahead: 0,
        };
        Ok(Self {
            model,
            backend,
            device_lock: Arc::clone(&threads.device_lock),
            shape,
            sampler: Sampler::default(),
            sampled: Sampled::default(),
            forwarded: None,
            drawn: false,
        })
    }

    /// Logits `[logit_rows, vocab]` of the last step, for tests and measurements.
    pub fn logits(&self) -> &[f32] {
        self.backend.step_logits()
    }

    /// Starts to measure the costs of operations.
    pub fn start_counting(&mut self) {
        self.backend.clock.start();
    }

    /// Ends the measurement and returns the costs since [`Self::start_counting`].
    pub fn stop_counting(&mut self) -> OpCosts {
        self.backend.clock.stop()
    }
}

impl Runner for CpuRunner {
    fn shape(&self) -> &RunnerShape {
        &self.shape
    }

    fn device_lock(&self) -> Option<Arc<DeviceLock>> {
        Some(Arc::clone(&self.device_lock))
    }

    fn forward(&mut self, batch: &Batch) -> Result<(), RunError> {
        (self.forwarded, self.drawn) = (None, false);
        self.backend.begin(batch, &self.shape)?;
        if !batch.tokens.is_empty() {
            self.model.forward(&mut self.backend);
        }
        self.forwarded = Some(batch.logit_rows.len());
        Ok(())
    }

    fn sample(&mut self, draws: &Draws<'_>) -> Result<(), RunError> {
        let rows = self.forwarded.take().ok_or(RunError::Order("sample"))?;
        draws.check(rows, self.shape.vocab)?;
        self.sampler.sample(self.backend.step_logits(), draws, &mut self.sampled);
        self.drawn = true;
        Ok(())
    }

    fn collect(&mut self) -> Result<&Sampled, RunError> {
        if !std::mem::take(&mut self.drawn) {
            return Err(RunError::Order("collect"));
        }
        Ok(&self.sampled)
    }
}

/// Maximum length of a sequence.
fn context(config: &ModelConfig, options: &CpuOptions) -> Result<usize, LoadError> {
    let most = config.context;
    match options.context {
        Some(asked) if !(1..=most).contains(&asked) => Err(LoadError::Context { asked, most }),
        asked => Ok(asked.unwrap_or(most)),
    }
}

/// Name of the best set of instructions that kernels have for this machine, for people.
pub fn instruction_set() -> &'static str {
    Isa::detect().name()
}

/// Size of a KV cache that holds one sequence of the maximum length, in bytes, with states where the
/// model's layers keep them.
///
/// # Errors
/// The model's layers or the asked context can't be served.
pub fn whole_context_bytes(config: &ModelConfig, options: &CpuOptions) -> Result<usize, LoadError> {
    let blocks = context(config, options)?.div_ceil(BLOCK_SIZE);
    let kv = block_bytes(&kv_shapes(config, options)).saturating_mul(blocks);
    Ok(kv.saturating_add(states::states_bytes(config, kv)))
}

/// Allocates states if the model's layers keep them, and a KV cache with as many blocks as are left
/// of the configured memory.
fn memory(config: &ModelConfig, options: &CpuOptions) -> Result<(KvCache, Option<LaneStates>), LoadError> {
    let Some(states) = states::states_shape(config, options.kv_cache_bytes)? else {
        return Ok((cache(config, options)?, None));
    };
    let left = CpuOptions { kv_cache_bytes: options.kv_cache_bytes - states::bytes(&states), ..*options };
    let cache = cache(config, &left)?;
    Ok((cache, Some(LaneStates::new(states, options)?)))
}

/// Allocates a KV cache with as many blocks as the configured memory holds.
fn cache(config: &ModelConfig, options: &CpuOptions) -> Result<KvCache, LoadError> {
    let mut shapes = kv_shapes(config, options);
    if shapes.is_empty() {
        return Err(LoadError::Layers);
    }
    let block = block_bytes(&shapes);
    // Slots are u32.
    let blocks = (options.kv_cache_bytes / block).min(u32::MAX as usize / BLOCK_SIZE);
    if blocks == 0 {
        return Err(LoadError::CacheTooSmall { bytes: options.kv_cache_bytes, block });
    }
    let bytes = options.kv_cache_bytes as u64;
    for shape in &mut shapes {
        shape.blocks = blocks;
    }
    KvCache::new(&shapes).ok_or(LoadError::CacheTooLarge { bytes })
}

/// Size of a block in all layers together, in bytes.
fn block_bytes(layers: &[KvShape]) -> usize {
    let one = |shape: &KvShape| shape.block_bytes().unwrap_or(usize::MAX);
    layers.iter().map(one).fold(0usize, usize::saturating_add).max(1)
}

/// Shapes of the layers' KV caches, except their number of blocks. Layers with a window keep all
/// tokens here.
fn kv_shapes(config: &ModelConfig, options: &CpuOptions) -> Vec<KvShape> {
    let dtype = options.numerics.kv_cache_dtype;
    let shape = |layer: &LayerCache| {
        let (kv_heads, head_dim, latent) = match *layer {
            LayerCache::Full { kv_heads, head_dim } | LayerCache::Window { kv_heads, head_dim, .. } => {
                (kv_heads, head_dim, false)
            }
            LayerCache::Latent { width } => (1, width, true),
        };
        KvShape { blocks: 0, kv_heads, head_dim, latent, dtype }
    };
    config.cache().iter().map(shape).collect()
}

//! Start of a model on a GPU: weights, activations and kernels, then keys and values in the memory
//! left, then graphs.

use super::backend::{BackendSizes, CudaBackend};
use super::buckets::buckets;
use super::cache::{CacheShape, DeviceCache};
use super::driver::Driver;
use super::graphs::DecodeGraphs;
use super::options::CudaOptions;
use super::sampler::DeviceSampler;
use super::step::{Spare, StepShape};
use super::supported;
use crate::batch::{Batch, TableEdit};
use crate::models::{Decoder, EngineProgress, LoadError, ModelConfig, Weights};

/// Greatest number of rows of logits in a step: one for each sequence, and some for drafts.
const LOGIT_ROWS: usize = 320;
/// Greatest number of rows of logits in a step that score tokens of prompts, beside those.
pub(super) const SCORE_ROWS: usize = 64;

/// A model that is ready to run, and its sizes.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) model: Decoder<CudaBackend>,
    pub(super) backend: CudaBackend,
    pub(super) graphs: DecodeGraphs,
    pub(super) sampler: DeviceSampler,
    pub(super) spare: Spare,
    pub(super) context: usize,
    pub(super) blocks: usize,
    pub(super) lanes: usize,
    pub(super) logit_rows: usize,
}

/// Loads a model and prepares all its kernels and graphs.
pub(super) fn start(
    driver: Box<dyn Driver>,
    config: &ModelConfig,
    weights: &Weights,
    options: &CudaOptions,
    progress: &mut dyn FnMut(EngineProgress),
) -> Result<Started, LoadError> {
    supported::check(config)?;
    supported::check_types(config, weights)?;
    let cache_shape = CacheShape::of(&config.cache())?;
    let context = context(config, options)?;
    let config = &ModelConfig { context, ..config.clone() };
    let (batch_tokens, lanes) = (options.batch_tokens.max(1), options.lanes.max(1));
    let buckets = buckets(lanes.min(batch_tokens));
    let rows = batch_tokens.max(buckets[buckets.len() - 1]);
    let logit_rows = rows.min(LOGIT_ROWS + SCORE_ROWS);
    let sizes =
        BackendSizes { rows, logit_rows, lanes: lanes + 1, context, deterministic: options.deterministic };
    let mut backend = CudaBackend::new(driver, config, sizes)?;
    let mut model = Decoder::load(&mut backend, config, weights, progress)?;
    // Kernels that overlap with the launch in front of them read weights before they wait for it,
    // so the weights must be complete.
    backend.driver.synchronize()?;
    let logits = backend.step_logits();
    let sampler = DeviceSampler::new(backend.driver.as_mut(), logits, logit_rows, lanes + 1, config.vocab)?;
    backend.samples = sampler.samples();
    prepare(&mut model, &mut backend, &sampler, buckets, sizes, progress)?;
    let (blocks, cache) =
        DeviceCache::allocate(backend.driver.as_mut(), cache_shape, options.kv_cache_bytes)?;
    backend.cache = cache;
    let spare = Spare { lane: cuda_kernels::size(lanes), block: cuda_kernels::size(blocks) };
    let (driver, tables) = backend.device();
    tables.apply(driver, &[TableEdit { lane: spare.lane, at: 0, block: spare.block }])?;
    warm_up(&mut model, &mut backend, spare, buckets)?;
    // Warms up the sampling kernel: a draw of zeros takes the likeliest token, for lane 0.
    backend.driver.launch(&sampler.launch(0..1))?;
    backend.driver.synchronize()?;
    let graphs = DecodeGraphs::capture(&mut model, &mut backend, buckets)?;
    Ok(Started { model, backend, graphs, sampler, spare, context, blocks, lanes, logit_rows })
}

/// Greatest length of a sequence, in tokens.
fn context(config: &ModelConfig, options: &CudaOptions) -> Result<usize, LoadError> {
    let most = config.context;
    match options.context {
        Some(asked) if !(1..=most).contains(&asked) => Err(LoadError::Context { asked, most }),
        asked => Ok(asked.unwrap_or(most)),
    }
}

/// Compiles the kernels of all possible steps. They are found by running steps of every size whose
/// launches are collected and not done.
fn prepare(
    model: &mut Decoder<CudaBackend>,
    backend: &mut CudaBackend,
    sampler: &DeviceSampler,
    buckets: &[usize],
    most: BackendSizes,
    progress: &mut dyn FnMut(EngineProgress),
) -> Result<(), LoadError> {
    backend.collect();
    let prompts = sizes(most.rows).flat_map(|tokens| [mixed(tokens, 0), mixed(tokens, tokens / 2)]);
    // Prompts whose tokens are scored have more rows of logits than sequences decode.
    let scored = sizes(most.logit_rows).map(|rows| StepShape { logit_rows: rows, ..mixed(rows, 0) });
    for step in buckets.iter().copied().map(StepShape::decode).chain(prompts).chain(scored) {
        backend.begin_without_batch(step);
        model.forward(backend);
    }
    backend.launch(&sampler.launch(0..1));
    let kernels = backend.collected();
    backend.end()?;
    let of = kernels.len();
    Ok(backend.driver.prepare(&kernels, &mut |done| progress(EngineProgress::Kernels { done, of }))?)
}

/// Numbers of rows up to `most` among which each kernel's are: kernels are chosen by powers of two.
fn sizes(most: usize) -> impl Iterator<Item = usize> {
    (0..usize::BITS).map(|bit| 1 << bit).take_while(move |rows| *rows < most).chain([most])
}

/// Shape of a step of `decoding` sequences that decode and one prompt behind them.
fn mixed(tokens: usize, decoding: usize) -> StepShape {
    let longest = tokens - decoding;
    let sequences = decoding + 1;
    let decoding = if longest == 1 { sequences } else { decoding };
    StepShape { tokens, decoding, sequences, longest, logit_rows: 1, all_logits: false }
}

/// Runs every decode step once, with padding rows only: what a kernel loads at its first launch is
/// then loaded before graphs are recorded, and failures of kernels show here.
fn warm_up(
    model: &mut Decoder<CudaBackend>,
    backend: &mut CudaBackend,
    spare: Spare,
    buckets: &[usize],
) -> Result<(), LoadError> {
    for bucket in buckets {
        backend.send(&Batch { starts: vec![0], ..Batch::default() }, Some(*bucket), spare)?;
        backend.begin(StepShape::decode(*bucket));
        model.forward(backend);
        backend.end()?;
    }
    Ok(backend.driver.synchronize()?)
}

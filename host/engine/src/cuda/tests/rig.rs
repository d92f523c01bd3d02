//! Tiny models on the drivers of tests, and batches for them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::fake::{FakeDriver, Log};
use super::shim::ShimDriver;
use crate::batch::{Batch, TableEdit};
use crate::cuda::driver::Driver;
use crate::cuda::real::Gpu;
use crate::cuda::{CudaOptions, CudaRunner, KernelCache, Survey, choose_device, load_libraries};
use crate::models::{EngineProgress, LoadError, ModelConfig, Weights};
use crate::runner::{Draw, Draws, RunError, Runner};
use crate::token::{SamplingParams, Token};
use crate::{DeviceChoice, ModelFiles};

/// Driver that executes kernels: the shim, or the GPU that `ENGINE_TESTS_DEVICE` names, with NVRTC
/// from the folder `ENGINE_TESTS_CUDA_LIBS`.
pub(super) fn device() -> Box<dyn Driver> {
    let Some(choice) = std::env::var("ENGINE_TESTS_DEVICE").ok() else { return Box::new(ShimDriver::new()) };
    if let Some(folder) = std::env::var_os("ENGINE_TESTS_CUDA_LIBS") {
        load_libraries(Path::new(&folder)).unwrap();
    }
    let choice: DeviceChoice = choice.parse().unwrap();
    let gpu = choose_device(choice, Survey::of_this_machine, None).unwrap().expect("a GPU");
    let cache = std::env::var_os("ENGINE_TESTS_KERNEL_CACHE");
    let cache = cache.map_or_else(KernelCache::default, |folder| KernelCache::open(Path::new(&folder)));
    Box::new(Gpu::open(&gpu, cache).unwrap())
}

/// Whether `device` is a GPU.
pub(super) fn is_a_gpu() -> bool {
    std::env::var("ENGINE_TESTS_DEVICE").is_ok_and(|device| device.starts_with("cuda"))
}

/// Whether shapes are small: on the shim, and where `ENGINE_TESTS_SIZES` is `small`, as on a
/// simulated GPU.
pub(super) fn is_small() -> bool {
    !is_a_gpu() || std::env::var("ENGINE_TESTS_SIZES").is_ok_and(|sizes| sizes == "small")
}

/// The engine crate's folder at run time, which may differ from the folder at build time.
pub(super) fn root() -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from)
}

/// Folder of a tiny model, random or trained.
pub(super) fn folder(name: &str) -> PathBuf {
    let root = root();
    let random = root.join("tests/goldens").join(name);
    if random.is_dir() { random } else { root.join("../models").join(name) }
}

/// Few lanes, and blocks for a few hundred tokens.
pub(super) fn options() -> CudaOptions {
    CudaOptions { kv_cache_bytes: Some(8 << 20), batch_tokens: 64, lanes: 8, ..CudaOptions::default() }
}

pub(super) fn load(
    driver: Box<dyn Driver>,
    name: &str,
    options: &CudaOptions,
    progress: &mut dyn FnMut(EngineProgress),
) -> Result<CudaRunner, LoadError> {
    let files = ModelFiles::Directory(folder(name));
    let (config, weights) = (ModelConfig::read(&files)?, Weights::open(&files)?);
    CudaRunner::on(driver, &config, &weights, options, progress)
}

/// A dense model on a driver that computes nothing, and the driver's log.
pub(super) fn fake() -> (CudaRunner, Arc<Mutex<Log>>) {
    let (driver, log) = FakeDriver::new();
    (load(Box::new(driver), "tied-bf16", &options(), &mut |_| {}).unwrap(), log)
}

/// One sequence's part of a step.
#[derive(Debug, Clone)]
pub(super) struct Part<'a> {
    pub(super) lane: u32,
    pub(super) tokens: &'a [u32],
    /// Position of the first token.
    pub(super) from: usize,
}

/// A batch in which lane `i` has blocks `i`, `i + 8`, and so on. The last row of each part has
/// logits.
pub(super) fn batch(parts: &[Part<'_>]) -> Batch {
    let mut batch = Batch::default();
    batch.clear();
    for Part { lane, tokens, from } in parts {
        for (position, token) in (*from..).zip(*tokens) {
            let (at, position) = (position / 64, u32::try_from(position).unwrap());
            let block = lane + 8 * u32::try_from(at).unwrap();
            batch.tokens.push(*token);
            batch.positions.push(position);
            batch.slots.push(block * 64 + position % 64);
        }
        let end = from + tokens.len();
        let first = if *from == 0 { 0 } else { from.div_ceil(64) };
        for at in first..end.div_ceil(64) {
            let at = u32::try_from(at).unwrap();
            batch.table_edits.push(TableEdit { lane: *lane, at, block: lane + 8 * at });
        }
        batch.starts.push(u32::try_from(batch.tokens.len()).unwrap());
        batch.context_lens.push(u32::try_from(end).unwrap());
        batch.lanes.push(*lane);
        batch.logit_rows.push(u32::try_from(batch.tokens.len()).unwrap() - 1);
    }
    batch
}

/// Greedy draws for all rows of a batch that have logits.
pub(super) fn greedy(batch: &Batch) -> Vec<Draw> {
    let draw = |row: &u32| Draw {
        sampling: SamplingParams::GREEDY,
        position: batch.positions[*row as usize] as usize + 1,
        top_logprobs: None,
    };
    batch.logit_rows.iter().map(draw).collect()
}

/// Runs a step to its end; returns its greedy tokens.
pub(super) fn step(runner: &mut CudaRunner, batch: &Batch) -> Result<Vec<u32>, RunError> {
    runner.forward(batch)?;
    runner.sample(&Draws { rows: &greedy(batch), ..Draws::default() })?;
    let id = |row: &Result<Token, _>| row.as_ref().map(|token| token.id).expect("logits are numbers");
    Ok(runner.collect()?.rows.iter().map(id).collect())
}

/// One token of a sequence that decodes, at position `from`.
pub(super) fn one(lane: u32, from: usize) -> Part<'static> {
    Part { lane, tokens: &[5], from }
}

/// Folder that is this user's alone, as caches of kernels need one.
pub(super) fn private_folder() -> tempfile::TempDir {
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    tempfile::Builder::new().permissions(mode).tempdir().unwrap()
}

//! [`Runner`] for a model on a GPU: steps are enqueued, and `collect` waits for their tokens.
//!
//! Invariants: the device works in the order of the calls. A decode step is the replay of a graph
//! where it has one; any other step is launched kernel by kernel. After an error no step is under
//! way; after a sticky error every call fails.

use std::time::Instant;

use super::CudaError;
use super::backend::CudaBackend;
use super::driver::Driver;
use super::graphs::DecodeGraphs;
use super::options::CudaOptions;
use super::platform::DeviceInfo;
use super::sampler::DeviceSampler;
use super::start::{Started, start};
use super::step::{Spare, StepShape};
use crate::batch::{Batch, BlockTables};
use crate::models::{Decoder, EngineProgress, LoadError, ModelConfig, Weights};
use crate::runner::{Draws, RunError, Runner, RunnerShape, Sampled};

/// A model on a GPU.
#[derive(Debug)]
pub struct CudaRunner {
    model: Decoder<CudaBackend>,
    backend: CudaBackend,
    graphs: DecodeGraphs,
    spare: Spare,
    shape: RunnerShape,
    /// Greatest number of rows of logits in a step.
    logit_rows: usize,
    tables: BlockTables,
    sampler: DeviceSampler,
    forwarded: Option<Forwarded>,
    /// Whether a step was sampled and not yet collected.
    drawn: bool,
    collected: Sampled,
    /// The error after which the device can't be used any more.
    lost: Option<RunError>,
}

/// A step that is begun and not yet sampled: for each draw, its row of logits and its lane.
#[derive(Debug)]
struct Forwarded(Vec<(usize, u32)>);

impl CudaRunner {
    /// Loads a model onto a GPU that the survey has found.
    pub fn new(
        device: &DeviceInfo,
        config: &ModelConfig,
        weights: &Weights,
        options: &CudaOptions,
        progress: &mut dyn FnMut(EngineProgress),
    ) -> Result<Self, LoadError> {
        let gpu = super::real::Gpu::open(device, options.kernels.clone())?;
        Self::on(Box::new(gpu), config, weights, options, progress)
    }

    /// Loads a model onto any driver.
    pub(super) fn on(
        driver: Box<dyn Driver>,
        config: &ModelConfig,
        weights: &Weights,
        options: &CudaOptions,
        progress: &mut dyn FnMut(EngineProgress),
    ) -> Result<Self, LoadError> {
        let started = start(driver, config, weights, options, progress)?;
        let Started { model, backend, graphs, sampler, spare, context, blocks, lanes, logit_rows } = started;
        let info = backend.driver.device();
        let shape = RunnerShape {
            name: format!("cuda:{}, {}, {}", info.index, info.name, backend.types()),
            vocab: config.vocab,
            context,
            batch_tokens: options.batch_tokens.max(1),
            score_rows: super::start::SCORE_ROWS,
            block_size: super::cache::BLOCK,
            blocks,
            lanes,
            states: None,
            ahead: 1,
        };
        Ok(Self {
            model,
            backend,
            graphs,
            spare,
            shape,
            logit_rows,
            tables: BlockTables::default(),
            sampler,
            forwarded: None,
            drawn: false,
            collected: Sampled::default(),
            lost: None,
        })
    }

    /// Memory bandwidth of the device in bytes per second, reads and writes counted: the fastest of
    /// `passes` copies of one half of the KV cache over the other. The content of the cache is
    /// lost.
    ///
    /// # Errors
    /// The device failed.
    #[expect(clippy::cast_precision_loss, reason = "bytes of memory are far below 2⁵³")]
    pub fn copy_bandwidth(&mut self, passes: usize) -> Result<f64, CudaError> {
        let (at, bytes) = self.backend.cache.memory();
        let (half, driver) = (bytes / 2, self.backend.driver.as_mut());
        let mut best = f64::INFINITY;
        for _ in 0..passes {
            driver.synchronize()?;
            let begin = Instant::now();
            driver.copy(at, half, at.offset(half as u64))?;
            driver.synchronize()?;
            best = best.min(begin.elapsed().as_secs_f64());
        }
        Ok(2.0 * half as f64 / best)
    }

    /// Logits of the step begun last, for each row that has some.
    #[cfg(test)]
    pub(super) fn step_logits(&mut self) -> Vec<f32> {
        let (vocab, at) = (self.shape.vocab, self.backend.step_logits());
        let driver = self.backend.driver.as_mut();
        let mut memory = driver.pinned(vocab * 4).expect("memory");
        let mut logits = Vec::new();
        for (row, _) in self.forwarded.iter().flat_map(|step| &step.0) {
            driver.download(at.offset((row * vocab * 4) as u64), vocab * 4, memory.as_mut()).expect("a copy");
            driver.synchronize().expect("it works");
            logits.extend_from_slice(&bytemuck::cast_slice(memory.bytes())[..vocab]);
        }
        logits
    }

    /// Enqueues a step: as the replay of a graph if there is one for it, else kernel by kernel.
    fn enqueue(&mut self, batch: &Batch) -> Result<(), CudaError> {
        let (driver, tables) = self.backend.device();
        tables.apply(driver, &batch.table_edits)?;
        let shape = StepShape::of(batch);
        let is_decode = shape.decoding == shape.sequences;
        let graph = self.graphs.find(shape.tokens).filter(|_| is_decode && shape.tokens > 0);
        let graph = graph.filter(|(bucket, _)| self.backend.work.fits_graph(batch, *bucket));
        if let Some((bucket, graph)) = graph {
            self.backend.send(batch, Some(bucket), self.spare)?;
            self.backend.driver.replay(graph)?;
            self.forwarded = Some(Forwarded::of(batch, |row, _| row));
            return Ok(());
        }
        self.backend.send(batch, None, self.spare)?;
        self.backend.begin(shape);
        if shape.tokens > 0 {
            self.model.forward(&mut self.backend);
        }
        self.backend.end()?;
        self.forwarded = Some(Forwarded::of(batch, |_, place| place));
        Ok(())
    }

    fn draw(&mut self, draws: &Draws<'_>) -> Result<(), RunError> {
        let Forwarded(places) = self.forwarded.take().ok_or(RunError::Order("sample"))?;
        draws.check(places.len(), self.shape.vocab)?;
        if self.drawn {
            return Err(RunError::Order("sample"));
        }
        self.sampler
            .sample(self.backend.driver.as_mut(), &places, draws)
            .map_err(|error| device_error(&error))?;
        self.drawn = true;
        Ok(())
    }

    /// Ends all steps under way, and keeps an error after which the device is lost.
    fn fail(&mut self, error: RunError) -> RunError {
        self.forwarded = None;
        self.drawn = false;
        if let RunError::Lost(_) = error {
            self.lost.get_or_insert_with(|| error.clone());
        } else {
            // Enqueued work may still read buffers that the next step would overwrite.
            let _ = self.backend.driver.synchronize();
        }
        error
    }
}

impl Runner for CudaRunner {
    fn shape(&self) -> &RunnerShape {
        &self.shape
    }

    fn forward(&mut self, batch: &Batch) -> Result<(), RunError> {
        if let Some(lost) = &self.lost {
            return Err(lost.clone());
        }
        let checked = batch.check(&self.shape, &mut self.tables).map_err(RunError::from);
        let fits = match batch.logit_rows.len() {
            rows if rows > self.logit_rows => Err(RunError::Device(format!(
                "a step of {rows} rows of logits; {} is the most",
                self.logit_rows
            ))),
            _ => Ok(()),
        };
        let done = checked.and(fits).and_then(|()| self.enqueue(batch).map_err(|error| device_error(&error)));
        done.map_err(|error| self.fail(error))
    }

    fn sample(&mut self, draws: &Draws<'_>) -> Result<(), RunError> {
        self.draw(draws).map_err(|error| self.fail(error))
    }

    fn collect(&mut self) -> Result<&Sampled, RunError> {
        if !std::mem::take(&mut self.drawn) {
            return Err(RunError::Order("collect"));
        }
        match self.sampler.collect(self.backend.driver.as_mut()) {
            Ok(rows) => self.collected = Sampled { rows },
            Err(error) => return Err(self.fail(device_error(&error))),
        }
        Ok(&self.collected)
    }
}

impl Forwarded {
    /// The draws of a batch. `place(row, at)` is the row of logits of the batch's row `row`, the
    /// `at`-th row that has logits.
    fn of(batch: &Batch, place: impl Fn(usize, usize) -> usize) -> Self {
        let lane = |row: &u32| batch.lanes[batch.starts.partition_point(|start| start <= row) - 1];
        let rows = batch.logit_rows.iter().enumerate();
        Self(rows.map(|(at, row)| (place(*row as usize, at), lane(row))).collect())
    }
}

fn device_error(error: &CudaError) -> RunError {
    if error.is_sticky() { RunError::Lost(error.to_string()) } else { RunError::Device(error.to_string()) }
}

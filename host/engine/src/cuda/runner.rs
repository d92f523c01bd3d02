//! A model on a GPU, as the scheduler knows it: steps are enqueued, and waited for where their tokens are wanted.
//!
//! Invariants: the device works in the order of the calls; a decode step is a graph's replay, any other is launched kernel by kernel. After
//! an error nothing is under way; after a sticky one every call fails.

use std::time::Instant;

use super::CudaError;
use super::backend::CudaBackend;
use super::driver::Driver;
use super::graphs::DecodeGraphs;
use super::options::CudaOptions;
use super::sampler::DeviceSampler;
use super::start::{Started, start};
use super::step::{Spare, StepShape};
use super::survey::DeviceInfo;
use crate::batch::{Batch, BlockTables};
use crate::models::{LoadError, Model, ModelConfig, Progress, Weights};
use crate::runner::{Draws, RunError, Runner, RunnerShape, Sampled};

/// A model on a GPU.
#[derive(Debug)]
pub struct CudaRunner {
    model: Model<CudaBackend>,
    backend: CudaBackend,
    graphs: DecodeGraphs,
    spare: Spare,
    shape: RunnerShape,
    /// The most rows of logits of a step.
    logit_rows: usize,
    tables: BlockTables,
    sampler: DeviceSampler,
    forwarded: Option<Forwarded>,
    /// A step was sampled that wasn't collected.
    drawn: bool,
    collected: Sampled,
    /// What the device can't get over.
    lost: Option<RunError>,
}

/// A step that wasn't sampled: of each of its draws, the row of logits and the lane.
#[derive(Debug)]
struct Forwarded(Vec<(usize, u32)>);

impl CudaRunner {
    /// A model from its configuration and weights, on a GPU that the survey has found.
    pub fn new(
        device: &DeviceInfo,
        config: &ModelConfig,
        weights: &Weights,
        options: &CudaOptions,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, LoadError> {
        let gpu = super::real::Gpu::open(device, options.kernels.clone())?;
        Self::on(Box::new(gpu), config, weights, options, progress)
    }

    /// The same on any driver.
    pub(super) fn on(
        driver: Box<dyn Driver>,
        config: &ModelConfig,
        weights: &Weights,
        options: &CudaOptions,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, LoadError> {
        let started = start(driver, config, weights, options, progress)?;
        let Started { model, backend, graphs, sampler, spare, context, blocks, lanes, logit_rows } = started;
        let info = backend.driver.device();
        let shape = RunnerShape {
            name: format!("cuda:{}, {}, {}", info.index, info.name, backend.types()),
            vocab: config.vocab,
            context,
            batch_tokens: options.batch_tokens.max(1),
            block_size: super::cache::BLOCK,
            blocks,
            lanes,
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

    /// Bytes per second that the device's memory gives and takes, in the fastest of `passes` copies of one half of the cache over the other: what
    /// the cache has is lost.
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

    /// Logits of the step that was begun last, of each row that has some.
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

    /// Enqueues a step.
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

    /// Ends all steps under way, and remembers what can't be got over.
    fn fail(&mut self, error: RunError) -> RunError {
        self.forwarded = None;
        self.drawn = false;
        if let RunError::Lost(_) = error {
            self.lost.get_or_insert_with(|| error.clone());
        } else {
            // What is enqueued still reads what the next step would write.
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
    /// The draws of a batch; `place` says which row of logits a row has that is the so-manieth with logits.
    fn of(batch: &Batch, place: impl Fn(usize, usize) -> usize) -> Self {
        let lane = |row: &u32| batch.lanes[batch.starts.partition_point(|start| start <= row) - 1];
        let rows = batch.logit_rows.iter().enumerate();
        Self(rows.map(|(at, row)| (place(*row as usize, at), lane(row))).collect())
    }
}

fn device_error(error: &CudaError) -> RunError {
    if error.is_sticky() { RunError::Lost(error.to_string()) } else { RunError::Device(error.to_string()) }
}

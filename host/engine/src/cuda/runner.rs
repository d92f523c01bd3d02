//! A model on a GPU, as the scheduler knows it: steps are enqueued, and waited for where their tokens are wanted.
//!
//! Invariants: the device works in the order of the calls; a decode step is a graph's replay, any other is launched kernel by kernel. After
//! an error nothing is under way; after a sticky one every call fails.

use std::collections::VecDeque;
use std::time::Instant;

use super::CudaError;
use super::backend::CudaBackend;
use super::driver::Driver;
use super::graphs::DecodeGraphs;
use super::logits::HostSampler;
use super::options::CudaOptions;
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
    sampler: HostSampler,
    /// Of each lane: what it sampled last.
    last: Vec<u32>,
    forwarded: Option<Forwarded>,
    drawn: VecDeque<Sampled>,
    collected: Sampled,
    /// What the device can't get over.
    lost: Option<RunError>,
}

/// A step that wasn't sampled: of each of its draws, the row of logits and the lane.
#[derive(Debug)]
struct Forwarded {
    rows: Vec<usize>,
    lanes: Vec<u32>,
}

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
        let Started { model, mut backend, graphs, spare, context, blocks, lanes, logit_rows } = started;
        let info = backend.driver.device();
        let shape = RunnerShape {
            name: format!("cuda:{}, {}, bf16", info.index, info.name),
            vocab: config.vocab,
            context,
            batch_tokens: options.batch_tokens.max(1),
            block_size: super::cache::BLOCK,
            blocks,
            lanes,
            ahead: 1,
        };
        let sampler = HostSampler::new(backend.driver.as_mut(), logit_rows, config.vocab)?;
        Ok(Self {
            model,
            backend,
            graphs,
            spare,
            shape,
            logit_rows,
            tables: BlockTables::default(),
            sampler,
            last: vec![0; lanes],
            forwarded: None,
            drawn: VecDeque::new(),
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
    pub(super) fn step_logits(&self) -> Vec<f32> {
        let rows = self.forwarded.iter().flat_map(|step| &step.rows);
        rows.flat_map(|row| self.sampler.row(*row)).copied().collect()
    }

    /// Enqueues a step, and the copy of its logits.
    fn enqueue(&mut self, batch: &Batch) -> Result<(), CudaError> {
        let (driver, tables) = self.backend.device();
        tables.apply(driver, &batch.table_edits)?;
        let shape = StepShape::of(batch);
        let is_decode = shape.decoding == shape.sequences;
        match self.graphs.find(shape.tokens).filter(|_| is_decode && shape.tokens > 0) {
            Some((bucket, graph)) => {
                self.backend.send(batch, Some(bucket), self.spare, &self.last)?;
                self.backend.driver.replay(graph)?;
                self.forwarded = Some(Forwarded::of(batch, |row, _| row));
            }
            None => {
                self.backend.send(batch, None, self.spare, &self.last)?;
                self.backend.begin(shape, &batch.logit_rows);
                if shape.tokens > 0 {
                    self.model.forward(&mut self.backend);
                }
                self.backend.end()?;
                self.forwarded = Some(Forwarded::of(batch, |_, place| place));
            }
        }
        let rows = self.forwarded.iter().flat_map(|step| &step.rows).max().map_or(0, |row| row + 1);
        let logits = self.backend.step_logits();
        self.sampler.fetch(self.backend.driver.as_mut(), logits, rows)
    }

    fn choose(&mut self, draws: &Draws<'_>) -> Result<(), RunError> {
        let Forwarded { rows, lanes } = self.forwarded.take().ok_or(RunError::Order("sample"))?;
        draws.check(rows.len(), self.shape.vocab)?;
        let sampled =
            self.sampler.sample(self.backend.driver.as_mut(), &rows, draws).map_err(device_error)?;
        for (lane, row) in lanes.iter().zip(&sampled.rows) {
            // Where none could be chosen the sequence ends: nobody will read what comes of it.
            self.last[*lane as usize] = row.as_ref().map_or(0, |token| token.id);
        }
        self.drawn.push_back(sampled);
        Ok(())
    }

    /// Ends all steps under way, and remembers what can't be got over.
    fn fail(&mut self, error: RunError) -> RunError {
        self.forwarded = None;
        self.drawn.clear();
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
        let done = checked.and(fits).and_then(|()| self.enqueue(batch).map_err(device_error));
        done.map_err(|error| self.fail(error))
    }

    fn sample(&mut self, draws: &Draws<'_>) -> Result<(), RunError> {
        self.choose(draws).map_err(|error| self.fail(error))
    }

    fn collect(&mut self) -> Result<&Sampled, RunError> {
        self.collected = self.drawn.pop_front().ok_or(RunError::Order("collect"))?;
        Ok(&self.collected)
    }
}

impl Forwarded {
    /// The draws of a batch; `place` says which row of logits a row has that is the so-manieth with logits.
    fn of(batch: &Batch, place: impl Fn(usize, usize) -> usize) -> Self {
        let lane = |row: &u32| batch.lanes[batch.starts.partition_point(|start| start <= row) - 1];
        Self {
            rows: batch.logit_rows.iter().enumerate().map(|(at, row)| place(*row as usize, at)).collect(),
            lanes: batch.logit_rows.iter().map(lane).collect(),
        }
    }
}

fn device_error(error: CudaError) -> RunError {
    if error.is_sticky() { RunError::Lost(error.to_string()) } else { RunError::Device(error.to_string()) }
}

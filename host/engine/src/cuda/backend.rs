//! What the operations of `ops` work with: memory of the device, and the current step. Each operation is one launch or a few, of what the runner has said of the current step.
//!
//! Invariants: every address is made at load, so that launches can be recorded once and replayed; operations can't fail one by one: the
//! first failure is kept, what comes behind it does nothing, and the runner asks for it at the end of a step.

use std::collections::HashSet;
use std::ops::Range;

use cuda_kernels::{DevicePtr, GatherRows, Launch, Variant};

use super::CudaError;
use super::attention_work::{AttentionWork, WorkSizes};
use super::cache::DeviceCache;
use super::driver::Driver;
use super::ops::{ExpertRoom, LatentRoom, size, work_kinds};
use super::staging::StagingRing;
use super::step::{Spare, StepArray, StepLayout, StepShape};
use super::tables::DeviceTables;
use super::weights::WeightUpload;
use crate::batch::Batch;
use crate::models::ops::TensorRole;
use crate::models::{LoadError, ModelConfig};

/// The device, and what a step's operations need to know.
#[derive(Debug)]
pub(super) struct CudaBackend {
    pub(super) driver: Box<dyn Driver>,
    weights: WeightUpload,
    /// Rows of the largest step.
    rows: usize,
    layout: StepLayout,
    /// The step's arrays, and what they are copied from.
    inputs: DevicePtr,
    staging: StagingRing,
    pub(super) work: AttentionWork,
    /// Parts of a staging slot that go to the device.
    copies: Vec<Range<usize>>,
    /// Rows' sums are the same in every step.
    pub(super) deterministic: bool,
    pub(super) tables: DeviceTables,
    pub(super) cache: DeviceCache,
    pub(super) head: Head,
    pub(super) step: StepShape,
    /// `[lanes]`: what each lane sampled last.
    pub(super) samples: DevicePtr,
    /// Activations of experts and of attention over a compressed cache, where a layer has such.
    pub(super) expert_room: Option<ExpertRoom>,
    pub(super) latent_room: Option<LatentRoom>,
    /// Element types of weights, each once.
    types: Vec<&'static str>,
    /// Launches are only counted: which kernels there are to compile.
    collecting: Option<HashSet<Variant>>,
    failed: Option<CudaError>,
}

/// What the head works on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    /// `[rows, hidden]` f32: rows of the residual stream.
    pub(super) gathered: DevicePtr,
    /// The same after the norm, bf16.
    pub(super) normed: DevicePtr,
    /// `[rows, vocab]` f32.
    pub(super) logits: DevicePtr,
}

/// Activations `[rows, cols]`, f32 or bf16.
#[derive(Debug)]
pub(super) struct Tensor {
    pub(super) at: DevicePtr,
    pub(super) cols: usize,
    pub(super) role: TensorRole,
}

/// Sizes of a backend.
#[derive(Debug, Clone, Copy)]
pub(super) struct BackendSizes {
    /// Rows of the largest step.
    pub(super) rows: usize,
    /// Rows of logits of the largest step.
    pub(super) logit_rows: usize,
    /// Lanes, the spare one among them.
    pub(super) lanes: usize,
    /// Positions of a lane.
    pub(super) context: usize,
    /// See `CudaOptions`.
    pub(super) deterministic: bool,
}

impl CudaBackend {
    pub(super) fn new(
        mut driver: Box<dyn Driver>,
        config: &ModelConfig,
        sizes: BackendSizes,
    ) -> Result<Self, LoadError> {
        let BackendSizes { rows, logit_rows, lanes, context, deterministic } = sizes;
        let layout = StepLayout::new(rows);
        let device = driver.as_mut();
        let head = Head {
            gathered: device.allocate("activations", logit_rows * config.hidden * 4)?,
            normed: device.allocate("activations", logit_rows * config.hidden * 2)?,
            logits: device.allocate("logits", logit_rows * config.vocab * 4)?,
        };
        let (kinds, sizes) = (work_kinds(config, deterministic), WorkSizes { rows, lanes, context });
        let bytes = layout.bytes() + AttentionWork::bytes(&kinds, sizes);
        let inputs = device.allocate("the step's inputs", bytes)?;
        device.zero(inputs, bytes)?;
        let lists = inputs.offset(layout.bytes() as u64);
        let tables = DeviceTables::new(device, lanes, context.div_ceil(super::cache::BLOCK))?;
        Ok(Self {
            weights: WeightUpload::new(device)?,
            rows,
            layout,
            inputs,
            staging: StagingRing::new(device, bytes)?,
            work: AttentionWork::new(device, kinds, sizes, lists)?,
            copies: Vec::new(),
            deterministic,
            tables,
            cache: DeviceCache::nowhere(),
            head,
            step: StepShape::default(),
            samples: DevicePtr::NULL,
            expert_room: None,
            latent_room: None,
            types: vec!["bf16"],
            collecting: None,
            failed: None,
            driver,
        })
    }

    /// The driver and the tables, to change what lies on the device.
    pub(super) fn device(&mut self) -> (&mut dyn Driver, &mut DeviceTables) {
        (self.driver.as_mut(), &mut self.tables)
    }

    /// Begins to copy what a step's kernels read.
    pub(super) fn send(
        &mut self,
        batch: &Batch,
        bucket: Option<usize>,
        spare: Spare,
    ) -> Result<(), CudaError> {
        let Self { layout, inputs, staging, work, copies, driver, .. } = self;
        staging.send(driver.as_mut(), |driver, memory| {
            let (arrays, lists) = memory.bytes_mut().split_at_mut(layout.bytes());
            layout.write(batch, bucket, spare, arrays);
            copies.clear();
            work.write(batch, bucket, spare, lists, copies);
            // The arrays, and what lies right behind them.
            let mut part = 0..layout.bytes();
            for copy in copies.drain(..) {
                let copy = copy.start + layout.bytes()..copy.end + layout.bytes();
                if copy.start == part.end {
                    part.end = copy.end;
                } else {
                    driver.upload(&*memory, part.clone(), inputs.offset(part.start as u64))?;
                    part = copy;
                }
            }
            driver.upload(&*memory, part.clone(), inputs.offset(part.start as u64))
        })
    }

    /// Begins a step of a batch that was sent.
    pub(super) fn begin(&mut self, step: StepShape) {
        self.step = step;
    }

    /// Begins one that no batch was sent for: to record it, or to see which kernels it has.
    pub(super) fn foresee(&mut self, step: StepShape) {
        self.work.foresee(step);
        self.begin(step);
    }

    /// What went wrong in the step, if anything did.
    pub(super) fn end(&mut self) -> Result<(), CudaError> {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// From here on launches are not done: which kernels they are of is told by `collected`.
    pub(super) fn collect(&mut self) {
        self.collecting = Some(HashSet::new());
    }

    /// The kernels since then, in a certain order.
    pub(super) fn collected(&mut self) -> Vec<Variant> {
        let mut all: Vec<Variant> = self.collecting.take().into_iter().flatten().collect();
        all.sort_by_key(ToString::to_string);
        all
    }

    /// `[rows, vocab]` f32.
    pub(super) fn step_logits(&self) -> DevicePtr {
        self.head.logits
    }

    /// Rows of the step.
    pub(super) fn tokens(&self) -> u32 {
        size(self.step.tokens)
    }

    /// Rows of the largest step.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn note_type(&mut self, name: &'static str) {
        if !self.types.contains(&name) {
            self.types.push(name);
        }
    }

    /// Types of weights, for people.
    pub(super) fn types(&self) -> String {
        self.types.join(", ")
    }

    /// What weights go to the device with.
    pub(super) fn upload(&mut self) -> (&mut dyn Driver, &mut WeightUpload) {
        (self.driver.as_mut(), &mut self.weights)
    }

    /// Room for activations of the largest step.
    pub(super) fn activations(&mut self, role: TensorRole, cols: usize) -> Result<Tensor, LoadError> {
        let element = match role {
            TensorRole::Sums => 4,
            TensorRole::Inputs => 2,
        };
        let at = self.driver.allocate("activations", self.rows * cols * element)?;
        Ok(Tensor { at, cols, role })
    }

    pub(super) fn input(&self, array: StepArray) -> DevicePtr {
        self.layout.at(self.inputs, array)
    }

    pub(super) fn launch(&mut self, launch: &Launch) {
        if let Some(collecting) = &mut self.collecting {
            collecting.insert(launch.kernel.variant());
        } else if self.failed.is_none() {
            self.failed = self.driver.launch(launch).err();
        }
    }

    /// Rows of the residual stream that logits are made of, one behind the other.
    pub(super) fn gather(&mut self, x: &Tensor, out: DevicePtr) -> DevicePtr {
        if self.step.all_logits {
            return x.at;
        }
        let gather = GatherRows {
            x: x.at,
            indices: self.input(StepArray::LogitRows),
            out,
            rows: size(self.step.logit_rows),
            cols: size(x.cols),
        };
        self.launch(&gather.launch());
        out
    }
}

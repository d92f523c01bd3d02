//! State behind the operations of `ops`: the device's memory, and the current step. An operation is
//! one launch or a few, with the sizes that the runner has given for the current step.
//!
//! Invariants: every address is fixed at load, so that launches can be recorded once and replayed.
//! Operations return no error one by one: the first failure is kept, later launches are skipped,
//! and the runner asks for the failure at the end of a step.

use std::collections::HashSet;
use std::ops::Range;

use cuda_kernels::{DevicePtr, GatherRows, Launch, MatrixProduct, Variant, size};

use super::attention_work::{AttentionWork, WorkKinds, WorkSizes};
use super::cache::DeviceCache;
use super::driver::Driver;
use super::scratch::{ExpertScratch, LatentScratch};
use super::staging::StagingRing;
use super::step::{Spare, StepArray, StepLayout, StepShape};
use super::tables::DeviceTables;
use super::weights::WeightUpload;
use super::{CudaError, DeviceInfo};
use crate::batch::Batch;
use crate::models::ops::TensorRole;
use crate::models::{LoadError, ModelConfig};

/// The device, and what the operations of a step need to know.
#[derive(Debug)]
pub(super) struct CudaBackend {
    pub(super) driver: Box<dyn Driver>,
    weights: WeightUpload,
    /// Rows of the largest step.
    rows: usize,
    layout: StepLayout,
    /// Device memory for the step's arrays and its lists of attention work.
    inputs: DevicePtr,
    staging: StagingRing,
    pub(super) work: AttentionWork,
    /// Byte ranges of the attention lists in a staging buffer that must be copied to the device.
    copies: Vec<Range<usize>>,
    /// Whether a row's sums are added in the same order in every step.
    pub(super) deterministic: bool,
    pub(super) tables: DeviceTables,
    pub(super) cache: DeviceCache,
    pub(super) head: Head,
    pub(super) step: StepShape,
    /// `[lanes]` u32 on the device: the token that each lane sampled last.
    pub(super) samples: DevicePtr,
    /// Activations of mixtures of experts, and of attention over a compressed cache; `None` until a
    /// layer of the kind is loaded.
    pub(super) expert_scratch: Option<ExpertScratch>,
    pub(super) latent_scratch: Option<LatentScratch>,
    /// Names of the weights' element types, each once.
    types: Vec<&'static str>,
    /// Set while launches are collected instead of done: the kernels that have to be compiled.
    collecting: Option<HashSet<Variant>>,
    /// First failure of the current step.
    failed: Option<CudaError>,
}

/// Buffers of the output head.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    /// `[logit_rows, hidden]` f32: rows of the residual stream whose logits are computed.
    pub(super) gathered: DevicePtr,
    /// `[logit_rows, hidden]` bf16: `gathered` after the norm.
    pub(super) normed: DevicePtr,
    /// `[logit_rows, vocab]` f32.
    pub(super) logits: DevicePtr,
}

/// Activations `[rows, cols]`, f32 for sums and bf16 for inputs.
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
    /// Greatest number of rows of logits in a step.
    pub(super) logit_rows: usize,
    /// Number of lanes, with the spare one.
    pub(super) lanes: usize,
    /// Greatest number of positions of a lane.
    pub(super) context: usize,
    /// See [`CudaOptions::deterministic`](super::CudaOptions::deterministic).
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
        let (kinds, sizes) = (WorkKinds::of(config, deterministic), WorkSizes { rows, lanes, context });
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
            expert_scratch: None,
            latent_scratch: None,
            types: vec!["bf16"],
            collecting: None,
            failed: None,
            driver,
        })
    }

    /// The driver and the block tables, for edits of the tables.
    pub(super) fn device(&mut self) -> (&mut dyn Driver, &mut DeviceTables) {
        (self.driver.as_mut(), &mut self.tables)
    }

    /// Enqueues the copies of a step's arrays and lists to the device. `bucket`: rows that a decode
    /// step is padded to.
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
            // Neighbouring ranges are copied together, beginning with the arrays.
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

    /// Begins a step whose batch was passed to `send`.
    pub(super) fn begin(&mut self, step: StepShape) {
        self.step = step;
    }

    /// Begins a step without a batch: to record its graph, or to collect its kernels.
    pub(super) fn begin_without_batch(&mut self, step: StepShape) {
        self.work.begin_without_batch(step);
        self.begin(step);
    }

    /// Ends a step: its first failure, if there was one.
    pub(super) fn end(&mut self) -> Result<(), CudaError> {
        self.failed.take().map_or(Ok(()), Err)
    }

    /// From here on launches are collected instead of done; `collected` returns their kernels. A
    /// launch that the device can't do is a failure.
    pub(super) fn collect(&mut self) {
        self.collecting = Some(HashSet::new());
    }

    /// Kernels launched since `collect`, each once, in the order of their names.
    pub(super) fn collected(&mut self) -> Vec<Variant> {
        let mut all: Vec<Variant> = self.collecting.take().into_iter().flatten().collect();
        all.sort_by_key(ToString::to_string);
        all
    }

    /// Logits of the step, `[logit_rows, vocab]` f32.
    pub(super) fn step_logits(&self) -> DevicePtr {
        self.head.logits
    }

    /// Number of rows of the current step.
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

    /// Element types of the weights, as text for people.
    pub(super) fn types(&self) -> String {
        self.types.join(", ")
    }

    /// The driver and the buffers that weights are uploaded with.
    pub(super) fn upload(&mut self) -> (&mut dyn Driver, &mut WeightUpload) {
        (self.driver.as_mut(), &mut self.weights)
    }

    /// Allocates activations `[rows, cols]` of the largest step.
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
            let missing = lacks_shared_memory(launch, self.driver.device());
            self.failed = self.failed.take().or(missing);
        } else if self.failed.is_none() {
            self.failed = self.driver.launch(launch).err();
        }
    }

    /// Whether launches are collected instead of done.
    pub(super) fn is_collecting(&self) -> bool {
        self.collecting.is_some()
    }

    /// Enqueues a matrix product of the vendor's library; false where a kernel has to compute it.
    /// While launches are collected it is false, so that those kernels are compiled as well.
    pub(super) fn product(&mut self, product: &MatrixProduct) -> bool {
        if self.is_collecting() || self.failed.is_some() {
            return false;
        }
        self.driver.multiply(product).unwrap_or_else(|error| {
            self.failed = Some(error);
            true
        })
    }

    /// Gathers the rows of the residual stream whose logits are computed into `out`; returns where
    /// they are.
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

/// The error of a launch whose blocks need more shared memory than the device has.
fn lacks_shared_memory(launch: &Launch, device: &DeviceInfo) -> Option<CudaError> {
    let (needed, found) = (launch.shared_bytes, device.block_shared_bytes);
    let kernel = || launch.kernel.to_string();
    (needed > found).then(|| CudaError::SharedMemory { kernel: kernel(), needed, index: device.index, found })
}

//! A runner of this machine, on whichever device: what is measured and served alike.

use std::sync::Arc;

use crate::batch::Batch;
use crate::cpu::CpuRunner;
use crate::cuda::CudaRunner;
use crate::device_lock::DeviceLock;
use crate::models::OpCosts;
use crate::options::LocalOptions;
use crate::runner::{Draws, RunError, Runner, RunnerShape, Sampled};

/// A model on a device of this machine.
#[derive(Debug)]
pub enum LocalRunner {
    /// On the CPU.
    Cpu(Box<CpuRunner>),
    /// On a GPU.
    Cuda(Box<CudaRunner>),
}

impl LocalRunner {
    fn runner(&self) -> &dyn Runner {
        match self {
            Self::Cpu(runner) => runner.as_ref(),
            Self::Cuda(runner) => runner.as_ref(),
        }
    }

    fn runner_mut(&mut self) -> &mut dyn Runner {
        match self {
            Self::Cpu(runner) => runner.as_mut(),
            Self::Cuda(runner) => runner.as_mut(),
        }
    }

    /// Sequences of a step: on a GPU more of them cost little more than few.
    pub fn sequences(&self) -> usize {
        match self {
            Self::Cpu(_) => LocalOptions::default().sequences,
            Self::Cuda(runner) => runner.shape().lanes,
        }
    }

    /// Begins to count what operations cost, where the device's operations end with their calls: a GPU's don't.
    pub fn start_counting(&mut self) {
        if let Self::Cpu(runner) = self {
            runner.start_counting();
        }
    }

    /// What the operations since then cost; they are counted no longer.
    pub fn stop_counting(&mut self) -> OpCosts {
        match self {
            Self::Cpu(runner) => runner.stop_counting(),
            Self::Cuda(_) => OpCosts::default(),
        }
    }
}

impl Runner for LocalRunner {
    fn shape(&self) -> &RunnerShape {
        self.runner().shape()
    }

    fn device_lock(&self) -> Option<Arc<DeviceLock>> {
        self.runner().device_lock()
    }

    fn forward(&mut self, batch: &Batch) -> Result<(), RunError> {
        self.runner_mut().forward(batch)
    }

    fn sample(&mut self, draws: &Draws<'_>) -> Result<(), RunError> {
        self.runner_mut().sample(draws)
    }

    fn collect(&mut self) -> Result<&Sampled, RunError> {
        self.runner_mut().collect()
    }
}

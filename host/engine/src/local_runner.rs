//! Runner on the CPU or on a GPU of this machine, used by the server and by the benchmarks.

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

    /// Maximum number of sequences in a step. On a GPU it is the number of lanes, since there many
    /// sequences cost little more than few.
    pub fn sequences(&self) -> usize {
        match self {
            Self::Cpu(_) => LocalOptions::default().sequences,
            Self::Cuda(runner) => runner.shape().lanes,
        }
    }

    /// Starts to measure the costs of operations on the CPU. On a GPU, where operations don't end
    /// with their calls, it does nothing.
    pub fn start_counting(&mut self) {
        if let Self::Cpu(runner) = self {
            runner.start_counting();
        }
    }

    /// Ends the measurement and returns the costs since [`Self::start_counting`]; zeros on a GPU.
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

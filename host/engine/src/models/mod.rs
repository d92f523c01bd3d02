//! Models: their configurations, their weights, and their layers written once over [`Backend`].
//!
//! Invariant: nothing in a model's files is trusted; every size is checked before it is used, and what is wrong is an error of
//! one line. Knows no device and no scheduler. Called by the backends' loaders.

mod backend;
mod config;
mod error;
mod fields;
mod finite;
mod header;
mod qwen3;
mod random;
mod rope;
mod weights;

pub use backend::{Backend, HeadNorms};
pub use config::{ModelConfig, Qwen3Config};
pub use error::LoadError;
pub use qwen3::Qwen3;
pub use random::random;
pub use rope::{Rope, YarnScaling};
pub use weights::{Dtype, WeightTensor, Weights};

use crate::batch::{Batch, RunError};

/// How far the loading of a model is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Parts that are loaded: the embedding, each layer, the head.
    pub parts: usize,
    /// Parts that there are.
    pub of: usize,
    /// Bytes of the parts that are loaded.
    pub bytes: u64,
}

/// A model on a backend.
#[derive(Debug)]
pub enum Model<B: Backend> {
    /// Qwen3, dense.
    Qwen3(Box<Qwen3<B>>),
}

impl<B: Backend> Model<B> {
    /// Puts the weights that `config` calls for on the backend.
    pub fn load(
        backend: &mut B,
        config: &ModelConfig,
        weights: &Weights,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, LoadError> {
        match config {
            ModelConfig::Qwen3(config) => {
                Ok(Self::Qwen3(Box::new(Qwen3::load(backend, config, weights, progress)?)))
            }
        }
    }

    /// Runs one step; logits `[logit_rows, vocab]`.
    pub fn forward<'b>(&mut self, backend: &'b mut B, batch: &Batch) -> Result<&'b [f32], RunError> {
        match self {
            Self::Qwen3(model) => model.forward(backend, batch),
        }
    }
}

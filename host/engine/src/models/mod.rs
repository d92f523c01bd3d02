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
mod layers;
mod loading;
pub mod ops;
mod qwen3;
mod random;
mod rope;
mod tensor;
mod weights;

pub use backend::Backend;
pub use config::{Architecture, LayerCache, ModelConfig, Qwen3Config};
pub use error::LoadError;
pub use qwen3::Qwen3;
pub use tensor::{Dtype, WeightTensor};
pub use weights::Weights;

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
        match &config.architecture {
            Architecture::Qwen3(sizes) => {
                Ok(Self::Qwen3(Box::new(Qwen3::load(backend, config, sizes, weights, progress)?)))
            }
        }
    }

    /// Runs the step that the backend began; its logits stay there.
    pub fn forward(&mut self, backend: &mut B) {
        match self {
            Self::Qwen3(model) => model.forward(backend),
        }
    }
}

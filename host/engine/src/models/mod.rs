//! Models: their configurations, their weights, and their layers written once over [`Backend`].
//!
//! Invariant: nothing in a model's files is trusted; every size is checked before it is used, and
//! what is wrong is an error of one line. Knows no device and no scheduler. Called by the backends'
//! loaders.

mod backend;
mod config;
mod costs;
mod decoder;
mod error;
mod fields;
mod finite;
mod gguf_weights;
mod header;
mod layers;
mod loading;
mod names;
pub mod ops;
mod random;
mod random_bytes;
mod rope;
mod stored;
mod tensor;
mod weights;

pub use backend::Backend;
pub use config::{
    AttentionBias, AttentionConfig, ExpertLayout, ExpertsConfig, Factors, GatedConfig, GatedLayout,
    GroupedConfig, LatentConfig, LayerCache, LayerConfig, MlpConfig, ModelConfig, PerLayerRows,
    ProjectionLayout, Quantization, SharedExpert, ShortConvConfig, StateShape,
};
pub use costs::{OpCost, OpCosts, OpKind};
pub use decoder::Decoder;
pub use error::LoadError;
pub use random_bytes::RandomBytes;
pub(crate) use random_bytes::RandomValues;
pub use stored::{ExpertWeights, StoredMatrix, WeightRole};
pub use tensor::{BlockDtype, BlockTensor, CodeKind, Codes, Dtype, StoredTensor, WeightTensor};
pub use weights::{WEIGHTS_FILE, WEIGHTS_INDEX, Weights};

/// Progress of the loading of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineProgress {
    /// The weights are being loaded.
    Weights {
        /// Number of parts that are loaded: the embedding, each layer, the head.
        parts: usize,
        /// Number of all parts.
        of: usize,
        /// Bytes of the parts that are loaded.
        bytes: u64,
    },
    /// The kernels for a GPU are being compiled.
    Kernels {
        /// Number of kernels that are compiled.
        done: usize,
        /// Number of all kernels.
        of: usize,
    },
}

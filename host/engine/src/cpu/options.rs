//! What a CPU runner may use, and in which numbers it computes.

pub use kernels::cpu::{KvDtype, QuantizeTo};

/// Bounds and numbers of a model on the CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuOptions {
    /// Memory for keys and values.
    pub kv_cache_bytes: usize,
    /// A bound on a sequence's length; at least one, at most the model's own.
    pub context: Option<usize>,
    /// Tokens of a step, at least one: what the activations are sized for.
    pub batch_tokens: usize,
    /// What keys and values are kept in.
    pub kv_cache_dtype: KvDtype,
    /// What linear layers round their inputs to.
    pub dtype: InputDtype,
    /// Fewer bits for the weights of linear layers; none: as they are stored.
    pub quantize: Option<QuantizeTo>,
}

impl Default for CpuOptions {
    fn default() -> Self {
        Self {
            kv_cache_bytes: 1 << 30,
            context: None,
            batch_tokens: 512,
            kv_cache_dtype: KvDtype::default(),
            dtype: InputDtype::Auto,
            quantize: None,
        }
    }
}

/// What linear layers round their inputs to. Everything else is f32, and so is every sum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum InputDtype {
    /// bf16 for bf16 weights, as such models were trained; f32 for others.
    #[default]
    Auto,
    /// Nothing. Quantised weights have inputs of eight bits nevertheless.
    F32,
}

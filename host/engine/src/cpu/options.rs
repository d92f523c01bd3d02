//! Options of a CPU runner: its limits, and the number types in which it computes.

pub use kernels::cpu::{KvDtype, QuantizeTo};

/// Limits of a model on the CPU, and its number types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuOptions {
    /// Memory for keys and values, in bytes.
    pub kv_cache_bytes: usize,
    /// Maximum length of a sequence; at least one, at most the model's own. `None`: the model's
    /// own.
    pub context: Option<usize>,
    /// Maximum number of tokens in a step, at least one, for which the activations are allocated.
    pub batch_tokens: usize,
    /// Number types of weights, inputs and KV cache.
    pub numerics: Numerics,
}

impl Default for CpuOptions {
    fn default() -> Self {
        Self { kv_cache_bytes: 1 << 30, context: None, batch_tokens: 512, numerics: Numerics::default() }
    }
}

/// Number types with fewer bits than f32. Every sum is f32 in any case, and a row's results never
/// depend on its batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Numerics {
    /// Number type of keys and values in the KV cache.
    pub kv_cache_dtype: KvDtype,
    /// What linear layers round their inputs to.
    pub dtype: InputDtype,
    /// Quantisation of linear layers' weights at load; `None`: they stay as they are stored.
    pub quantize: Option<QuantizeTo>,
    /// Whether bf16 weights of linear layers that aren't quantised are repacked at load.
    pub repack: Repack,
}

impl Numerics {
    /// Nothing is rounded beyond the weights as they are stored.
    pub const EXACT: Self =
        Self { kv_cache_dtype: KvDtype::F32, dtype: InputDtype::F32, quantize: None, repack: Repack::Never };
}

/// What linear layers round their inputs to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum InputDtype {
    /// bf16 for bf16 weights, as such models were trained, and for MXFP4 and FP8, whose codes bf16
    /// has; sixteen bits or eight for blocks of GGUF files, by the model's size; f32 for others.
    #[default]
    Auto,
    /// f32, so nothing is rounded. Weights quantised at load have inputs of eight bits in any case.
    F32,
}

/// Whether bf16 weights of linear layers whose inputs are rounded are repacked into another order
/// at load. This also changes the order of sums.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Repack {
    /// Repacked where the processor has an instruction for pairs of bf16: steps of several rows are
    /// faster, and the weights take memory of this process.
    #[default]
    Auto,
    /// Weights stay in the mapped file: nothing is read before it is used, and other processes
    /// share the memory.
    Never,
}

//! What a CPU runner may use, and in which numbers it computes.

pub use kernels::cpu::{KvDtype, QuantizeTo};

/// Bounds of a model on the CPU, and its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuOptions {
    /// Memory for keys and values.
    pub kv_cache_bytes: usize,
    /// A bound on a sequence's length; at least one, at most the model's own.
    pub context: Option<usize>,
    /// Tokens of a step, at least one: what the activations are sized for.
    pub batch_tokens: usize,
    /// What it computes in.
    pub numerics: Numerics,
}

impl Default for CpuOptions {
    fn default() -> Self {
        Self { kv_cache_bytes: 1 << 30, context: None, batch_tokens: 512, numerics: Numerics::default() }
    }
}

/// Where fewer bits are used than f32 has. Every sum is f32, whatever this says, and a row's results never depend on its batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Numerics {
    /// What keys and values are kept in.
    pub kv_cache_dtype: KvDtype,
    /// What linear layers round their inputs to.
    pub dtype: InputDtype,
    /// Fewer bits for the weights of linear layers; none: as they are stored.
    pub quantize: Option<QuantizeTo>,
    /// Where weights of linear layers lie that are kept as they are stored.
    pub repack: Repack,
}

impl Numerics {
    /// Nothing is rounded but the weights that are stored so.
    pub const EXACT: Self =
        Self { kv_cache_dtype: KvDtype::F32, dtype: InputDtype::F32, quantize: None, repack: Repack::Never };
}

/// What linear layers round their inputs to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum InputDtype {
    /// bf16 for bf16 weights, as such models were trained; f32 for others.
    #[default]
    Auto,
    /// Nothing. Quantised weights have inputs of eight bits nevertheless.
    F32,
}

/// Whether bf16 weights of linear layers whose inputs are rounded are put in another order at load. Sums then have another order, too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Repack {
    /// Where the processor's instructions want it: steps of several rows are faster, and the weights are memory of this process.
    #[default]
    Auto,
    /// They stay in the mapped file: nothing is read before it is used, and other processes share it.
    Never,
}

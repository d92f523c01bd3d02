//! CUDA kernels of the engine's operations: the kernels as text (`*.cu` beside this folder), and
//! for each operation a struct of parameters that makes a [`Launch`], a reference on the CPU, and
//! the tolerance that tests allow.
//!
//! Invariant: nothing here talks to a device. A launch is data, and its parameters are checked when
//! it is made; the engine's driver or the shim of tests runs it without knowing the operation.
//! NVRTC compiles the text on the machine that serves, without any header.
#![doc = include_str!("../DESIGN.md")]

mod attention;
mod cast;
mod check;
mod embed;
mod fill;
mod fp8;
mod gate_mul;
mod gather_rows;
mod launch;
mod linear;
mod mla;
mod moe;
mod pointer;
mod qk_norm_rope_write;
mod rms_norm;
mod sampling;
mod source;
mod tolerance;
mod variants;

pub use attention::{
    Attention, AttentionDecode, AttentionPrefill, PagedCache, PrefillRows, SPAN, decode_spans, decode_work,
    prefill_tiles, write_decode_work, write_prefill_tiles,
};
pub use cast::{Cast, Number};
pub use check::size;
pub use embed::{Embed, LAST, LastSamples, embed_reference};
pub use fill::{Fill, RandomCodes, RandomWeights, random_codes_reference, random_weights_reference};
pub use fp8::{FP8_ROWS, Fp8Scales};
pub use gate_mul::GateMul;
pub use gather_rows::GatherRows;
pub use launch::{ArgKind, Args, KernelId, Launch, MAX_ARGS};
pub use linear::{
    Linear, LinearInput, LinearStore, LinearWeight, MatrixProduct, ProductStore, swiglu_turns_reference,
};
pub use mla::{
    MlaAttention, MlaDecode, MlaPrefill, MlaProject, MlaSide, MlaWrite, mla_keys_reference,
    mla_values_reference, supports_mla_tiles,
};
pub use moe::{
    ClampedSwiglu, ExpertFormat, MXFP4_MAX_SCALE, MoeAlign, MoeCombine, MoeLayer, MoeLinear, MoeRoute,
    StoredExperts, moe_align_reference, moe_combine_reference, moe_route_reference, pack_mxfp4,
};
pub use pointer::DevicePtr;
pub use qk_norm_rope_write::{QkNormRopeWrite, kv_index};
pub use rms_norm::RmsNorm;
pub use sampling::{DrawRow, EditRow, MAX_TOP, Reference, Sample, SampledRow, sample_reference};
pub use source::{Arch, Defines, KernelSource, Variant, kernel_names};
pub use tolerance::Tolerance;
pub use variants::variants;

//! Cases of the benchmark table: kernels with the shapes of Qwen3-8B, 0.6B and 30B-A3B,
//! gpt-oss-20b, Moonlight and DeepSeek-V3.

use cuda_kernels::{LinearStore, MlaSide};
use ops::QkvShape;

/// Format of a weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Bf16,
    Mxfp4,
    /// In quantisation blocks of 128 columns.
    Fp8,
}

impl Format {
    /// Bytes of weights, without their scales.
    pub(super) fn bytes(self, weights: u64) -> u64 {
        match self {
            Self::Bf16 => weights * 2,
            Self::Fp8 => weights,
            Self::Mxfp4 => weights / 2,
        }
    }

    /// Bytes of the scales of a weight `[rows, cols]`.
    pub(super) fn scale_bytes(self, rows: u32, cols: u32) -> u64 {
        match self {
            Self::Bf16 => 0,
            Self::Fp8 => u64::from(rows / 8) * u64::from(cols.div_ceil(128)) * 4,
            Self::Mxfp4 => u64::from(rows) * u64::from(cols / 32),
        }
    }
}

/// A linear layer, with or without the norm of its input.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinearShape {
    pub(super) outputs: u32,
    pub(super) inputs: u32,
    pub(super) store: LinearStore,
    pub(super) norm: bool,
    pub(super) format: Format,
}

/// Sizes of attention over sequences of `context` tokens.
#[derive(Debug, Clone, Copy)]
pub(super) struct CacheShape {
    pub(super) heads: QkvShape,
    pub(super) context: u32,
    pub(super) window: Option<u32>,
}

/// Linear layers of experts with `n` outputs and `k` inputs.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExpertShape {
    pub(super) experts: u32,
    pub(super) per_token: u32,
    pub(super) n: u32,
    pub(super) k: u32,
    pub(super) format: Format,
}

/// Kernel of a case, and its sizes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Work {
    Linear(LinearShape),
    Decode(CacheShape),
    Prefill(CacheShape),
    MlaDecode { heads: u32, context: u32 },
    MlaPrefill { heads: u32, context: u32 },
    MlaProject { heads: u32, side: MlaSide },
    Experts(ExpertShape),
    Norm { cols: u32 },
}

pub(super) type Case = (&'static str, u32, Work);

pub(super) fn linear(outputs: u32, inputs: u32, store: LinearStore) -> Work {
    Work::Linear(LinearShape { outputs, inputs, store, norm: false, format: Format::Bf16 })
}

fn fp8(outputs: u32, inputs: u32, store: LinearStore) -> Work {
    Work::Linear(LinearShape { outputs, inputs, store, norm: false, format: Format::Fp8 })
}

fn normed(outputs: u32, inputs: u32, store: LinearStore) -> Work {
    Work::Linear(LinearShape { outputs, inputs, store, norm: true, format: Format::Bf16 })
}

fn cache(heads: usize, kv_heads: usize, head_dim: usize, context: u32) -> CacheShape {
    CacheShape { heads: QkvShape { heads, kv_heads, head_dim }, context, window: None }
}

/// Cases as (model and layer, rows, work).
pub(super) fn cases() -> Vec<Case> {
    use LinearStore::{AddF32, Bf16, F32, SwiGlu};
    let mut all: Vec<Case> = Vec::new();
    for rows in [1, 4, 16, 64, 256, 2048] {
        all.extend([
            ("8B qkv", rows, linear(6144, 4096, Bf16)),
            ("8B o", rows, linear(4096, 4096, AddF32)),
            ("8B gate_up", rows, linear(24_576, 4096, SwiGlu)),
            ("8B down", rows, linear(4096, 12_288, AddF32)),
            ("8B qkv FP8", rows, fp8(6144, 4096, Bf16)),
            ("8B o FP8", rows, fp8(4096, 4096, AddF32)),
            ("8B gate_up FP8", rows, fp8(24_576, 4096, SwiGlu)),
            ("8B down FP8", rows, fp8(4096, 12_288, AddF32)),
        ]);
    }
    for rows in [1, 64] {
        all.extend([
            ("8B qkv, norm", rows.min(4), normed(6144, 4096, Bf16)),
            ("8B gate_up, norm", rows.min(4), normed(24_576, 4096, SwiGlu)),
            ("8B head", rows, linear(151_936, 4096, F32)),
            ("0.6B qkv", rows, linear(4096, 1024, Bf16)),
            ("0.6B gate_up", rows, linear(6144, 1024, SwiGlu)),
            ("0.6B down", rows, linear(1024, 3072, AddF32)),
            ("20b qkv", rows, linear(5120, 2880, Bf16)),
            ("20b o", rows, linear(2880, 4096, AddF32)),
            ("20b head", rows, linear(201_088, 2880, F32)),
            ("Moonlight q", rows, linear(3072, 2048, Bf16)),
            ("Moonlight cache", rows, Work::MlaDecode { heads: 16, context: 640 }),
            ("8B norm", rows, Work::Norm { cols: 4096 }),
        ]);
    }
    for rows in [1, 4, 16, 64] {
        all.extend([
            ("20b gate_up MXFP4", rows, experts(32, 4, 5760, 2880, Format::Mxfp4)),
            ("20b down MXFP4", rows, experts(32, 4, 2880, 2880, Format::Mxfp4)),
            ("Moonlight gate_up", rows, experts(64, 6, 2816, 2048, Format::Bf16)),
            ("30B gate_up FP8", rows, experts(128, 8, 1536, 2048, Format::Fp8)),
            ("30B down FP8", rows, experts(128, 8, 2048, 768, Format::Fp8)),
        ]);
    }
    for (rows, context) in [(1, 640), (1, 8192), (64, 640), (256, 640), (16, 8192)] {
        all.push(("8B cache", rows, Work::Decode(cache(32, 8, 128, context))));
        all.push(("20b cache", rows, Work::Decode(cache(64, 8, 64, context))));
    }
    let window = Work::Decode(CacheShape { window: Some(128), ..cache(64, 8, 64, 8192) });
    all.push(("20b window", 64, window));
    for context in [2048, 8192] {
        all.push(("8B prompt", 2048, Work::Prefill(cache(32, 8, 128, context))));
        all.push(("Moonlight prompt", 2048, Work::MlaPrefill { heads: 16, context }));
        all.push(("DeepSeek prompt", 2048, Work::MlaPrefill { heads: 128, context }));
    }
    for rows in [64, 2048] {
        all.push(("DeepSeek queries", rows, Work::MlaProject { heads: 128, side: MlaSide::Queries }));
        all.push(("DeepSeek values", rows, Work::MlaProject { heads: 128, side: MlaSide::Values }));
    }
    all
}

fn experts(experts: u32, per_token: u32, n: u32, k: u32, format: Format) -> Work {
    Work::Experts(ExpertShape { experts, per_token, n, k, format })
}

/// The case with smaller sizes, for devices that aren't GPUs.
pub(super) fn shrunk((name, rows, work): Case) -> Case {
    let less = |size: u32| (size / 64).next_multiple_of(32);
    let work = match work {
        Work::Linear(shape) => {
            Work::Linear(LinearShape { outputs: less(shape.outputs), inputs: less(shape.inputs), ..shape })
        }
        Work::Decode(shape) => Work::Decode(CacheShape { context: shape.context / 16, ..shape }),
        Work::Prefill(CacheShape { heads: QkvShape { heads, kv_heads, head_dim }, context, .. }) => {
            Work::Prefill(cache(heads / 8, kv_heads / 8, head_dim, context / 64))
        }
        Work::MlaDecode { heads, context } => Work::MlaDecode { heads, context: context / 16 },
        Work::MlaPrefill { heads, context } => Work::MlaPrefill { heads: heads / 8, context: context / 64 },
        Work::MlaProject { heads, side } => Work::MlaProject { heads: heads / 8, side },
        Work::Experts(ExpertShape { experts, per_token, n, k, format }) => Work::Experts(ExpertShape {
            experts: experts / 8,
            per_token: per_token / 2,
            n: less(n),
            k: less(k),
            format,
        }),
        Work::Norm { cols } => Work::Norm { cols: less(cols) },
    };
    (name, rows.min(18), work)
}

//! Linear layers of experts, with weights in their stored format.

use crate::check;
use crate::{Args, Defines, DevicePtr, KernelId, Launch, Source, Variant};

static SOURCE: Source = Source { name: "moe_linear.cu", text: include_str!("../../moe_linear.cu") };

/// Format of the experts' weights `[experts, n, k]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpertFormat {
    /// bf16.
    Bf16,
    /// MXFP4: two E2M1 codes in a byte, the lower half first; `k` is a multiple of 32.
    Mxfp4 {
        /// `[experts, n, k / 32]` u8: exponents of two, plus 127.
        scales: DevicePtr,
    },
    /// FP8: E4M3 codes, with a factor for each quantisation block.
    Fp8 {
        /// `[experts, parts, ⌈part_rows / block.0⌉, ⌈k / block.1⌉]` f32.
        scales: DevicePtr,
        /// Rows and columns of a quantisation block; columns are a multiple of 8.
        block: (u32, u32),
        /// Rows of each of the matrices that are stacked in a weight; divides `n`.
        part_rows: u32,
    },
}

/// Weights of all experts.
#[derive(Debug, Clone, Copy)]
pub struct StoredExperts {
    /// Address of the weights or codes.
    pub at: DevicePtr,
    /// Format of the weights.
    pub format: ExpertFormat,
    /// `[experts, n]` f32.
    pub bias: Option<DevicePtr>,
}

/// The two linear layers of an expert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoeLayer {
    /// Reads the token's row of `x`, `[tokens, k]` bf16, and writes to the route's place in `order`: `out` is `[routes, n]` bf16.
    GateUp {
        /// Experts of a token.
        per_token: u32,
    },
    /// Reads from the route's place in `order`: `x` is `[routes, k]` bf16. Writes to the route's row of `out`, `[routes, n]` f32.
    Down,
}

/// `out = x · weightᵀ + bias`, each row with its expert's weight.
#[derive(Debug, Clone, Copy)]
pub struct MoeLinear {
    /// See [`MoeLayer`].
    pub x: DevicePtr,
    /// `[routes]` u32, made by [`crate::MoeAlign`].
    pub order: DevicePtr,
    /// `[experts + 1]` u32, made by [`crate::MoeAlign`].
    pub starts: DevicePtr,
    /// Weights of all experts.
    pub weights: StoredExperts,
    /// See [`MoeLayer`].
    pub out: DevicePtr,
    /// Number of routes: tokens times experts of a token.
    pub routes: u32,
    /// Number of experts.
    pub experts: u32,
    /// Rows of an expert's weight, even.
    pub n: u32,
    /// Columns of an expert's weight, a multiple of 8.
    pub k: u32,
    /// Which rows are read and written.
    pub layer: MoeLayer,
}

/// Mean number of routes of an expert from which on tiles have 64 rows instead of 16.
const MANY: u32 = 32;

impl MoeLinear {
    /// # Panics
    /// Where there is nothing to compute, a pointer is null or misaligned, or a size isn't a multiple of its number.
    pub fn launch(&self) -> Launch {
        let Self { x, weights, out, routes, experts, n, k, .. } = *self;
        check::shape("moe_linear", routes, experts, &[x, self.order, self.starts, weights.at, out]);
        assert!(
            n > 0 && k > 0 && n.is_multiple_of(2) && k.is_multiple_of(8),
            "moe_linear: weights of {n} by {k}"
        );
        assert!([x, weights.at, out].iter().all(|p| p.is_wide()), "moe_linear: a pointer is misaligned");
        let tile = if routes >= MANY * experts { 64 } else { 16 };
        // Each expert with routes has at most one tile that isn't full.
        let tiles = experts.min(routes) + routes / tile;
        assert!(tiles <= 65_535, "moe_linear: {tiles} tiles");
        let (format, scales, block, part_rows) = self.format();
        let (down, per_token) = match self.layer {
            MoeLayer::GateUp { per_token } => (0, per_token),
            MoeLayer::Down => (1, 1),
        };
        assert!(per_token > 0, "moe_linear: no experts of a token");
        Launch {
            kernel: Self::kernel(format, tile, down),
            grid: [n.div_ceil(64), tiles, 1],
            block: [128, 1, 1],
            shared_bytes: (tile + 64) * (if tile == 16 { 128 } else { 64 } + 8) * 2,
            args: Args::new()
                .ptr(x)
                .ptr(self.order)
                .ptr(self.starts)
                .ptr(weights.at)
                .ptr(scales)
                .optional(weights.bias)
                .ptr(out)
                .u32(n)
                .u32(k)
                .u32(experts)
                .u32(per_token)
                .u32(block.0)
                .u32(block.1)
                .u32(part_rows),
            overlaps: true,
        }
    }

    fn format(&self) -> (u32, DevicePtr, (u32, u32), u32) {
        match self.weights.format {
            ExpertFormat::Bf16 => (0, DevicePtr::NULL, (1, 1), self.n),
            ExpertFormat::Mxfp4 { scales } => {
                assert!(
                    self.k.is_multiple_of(32) && scales != DevicePtr::NULL,
                    "moe_linear: MXFP4 of {}",
                    self.k
                );
                (1, scales, (1, 1), self.n)
            }
            ExpertFormat::Fp8 { scales, block, part_rows } => {
                let blocks_fit = block.0 > 0 && block.1 > 0 && block.1.is_multiple_of(8);
                let parts_fit = part_rows > 0 && self.n.is_multiple_of(part_rows);
                assert!(
                    blocks_fit && parts_fit && scales != DevicePtr::NULL,
                    "moe_linear: FP8 blocks of {block:?}"
                );
                (2, scales, block, part_rows)
            }
        }
    }

    fn kernel(format: u32, tile: u32, down: u32) -> KernelId {
        let defines = Defines::new(&[("FORMAT", format), ("TILE_M", tile), ("DOWN", down)]);
        KernelId { source: &SOURCE, defines, entry: "moe_linear" }
    }

    pub(crate) fn variants() -> Vec<Variant> {
        let all = |format| {
            [(16, 0), (16, 1), (64, 0), (64, 1)].map(|(tile, down)| Self::kernel(format, tile, down))
        };
        (0..3).flat_map(all).map(|kernel| kernel.variant()).collect()
    }
}

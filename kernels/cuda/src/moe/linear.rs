//! Linear layers of experts, with weights in their stored format.

use crate::check;
use crate::{Args, Defines, DevicePtr, FP8_ROWS, Fp8Scales, KernelId, KernelSource, Launch, Variant};

/// A source file with the texts that experts' kernels share in front.
macro_rules! expert_source {
    ($name:literal) => {
        KernelSource {
            name: $name,
            text: concat!(
                "#line 1 \"mxfp4.cuh\"\n",
                include_str!("../../mxfp4.cuh"),
                "\n#line 1 \"fp8.cuh\"\n",
                include_str!("../../fp8.cuh"),
                "\n#line 1 \"moe_weight.cuh\"\n",
                include_str!("../../moe_weight.cuh"),
                "\n#line 1 \"moe_tile.cuh\"\n",
                include_str!("../../moe_tile.cuh"),
                "\n#line 1 \"",
                $name,
                "\"\n",
                include_str!(concat!("../../", $name))
            ),
        }
    };
}

static TILES: KernelSource = expert_source!("moe_linear.cu");
static SKINNY: KernelSource = expert_source!("moe_skinny.cu");

/// Format of the experts' weights `[experts, n, k]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpertFormat {
    /// bf16.
    Bf16,
    /// MXFP4: E2M1 codes, eight bytes at a time in the order of [`crate::pack_mxfp4`]; `k` is a
    /// multiple of 32.
    Mxfp4 {
        /// `[experts, n, k / 32]` u8: exponents of two, plus 127; at most
        /// [`crate::MXFP4_MAX_SCALE`].
        scales: DevicePtr,
    },
    /// FP8: E4M3 codes, with the scales of `[experts * n, k]`; `n` is a multiple of 8, `k` of 16.
    Fp8(Fp8Scales),
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
    /// Reads the token's row of `x`, `[tokens, k]` bf16, and writes to the route's place in
    /// `order`: `out` is `[routes, n]` bf16.
    GateUp {
        /// Experts of a token.
        per_token: u32,
    },
    /// Reads from the route's place in `order`: `x` is `[routes, k]` bf16. Writes to the route's
    /// row of `out`, `[routes, n]` f32.
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

/// Greatest mean number of routes of an expert for which rows are few. From 8 rows on the kernel
/// for few rows reads as many bytes of x from the caches as of MXFP4 weights from memory; some
/// experts have more rows than the mean.
const FEW: u32 = 4;
/// Mean number of routes of an expert from which on tiles have 64 rows instead of 16.
const MANY: u32 = 32;
/// Warps of a block of the kernel for few rows, and rows of its tiles.
const SKINNY_WARPS: u32 = 4;
const SKINNY_ROWS: u32 = 16;

impl MoeLinear {
    /// Launch of the best kernel for this number of routes.
    ///
    /// # Panics
    /// Where there is nothing to compute, a pointer is null or misaligned, or a size isn't a
    /// multiple of its number.
    pub fn launch(&self) -> Launch {
        self.skinny().unwrap_or_else(|| self.tiles())
    }

    /// Launch of `moe_skinny.cu`; `None` for more than a few routes, and for FP8 in quantisation
    /// blocks of other widths than 128 columns, or with columns that aren't a multiple of 64.
    fn skinny(&self) -> Option<Launch> {
        let is_read = match self.weights.format {
            ExpertFormat::Fp8(scales) => scales.fit_few_row_kernel() && self.k.is_multiple_of(64),
            ExpertFormat::Bf16 | ExpertFormat::Mxfp4 { .. } => true,
        };
        // The kernel's indexes of rows in x, and of 16 bytes of the weights, have 32 bits.
        let is_indexed = [self.routes, self.experts.saturating_mul(self.n).div_ceil(8)]
            .iter()
            .all(|rows| rows.checked_mul(self.k).is_some());
        if !is_read || !is_indexed || self.routes > FEW.saturating_mul(self.experts) {
            return None;
        }
        let (args, format, down) = self.checked();
        let cols = if format == 0 { 16 } else { 32 };
        Some(Launch {
            kernel: skinny_kernel(format, down),
            grid: [self.n.div_ceil(cols), self.number_of_tiles(SKINNY_ROWS), 1],
            block: [SKINNY_WARPS * 32, 1, 1],
            // Sums of each warp and row.
            shared_bytes: SKINNY_WARPS * SKINNY_ROWS * (cols + 4) * 4,
            args,
            overlaps: true,
        })
    }

    /// Launch of `moe_linear.cu`, which adds in the same order for any number of routes.
    ///
    /// # Panics
    /// As [`Self::launch`].
    pub fn tiles(&self) -> Launch {
        let rows = if self.routes >= MANY.saturating_mul(self.experts) { 64 } else { 16 };
        let (args, format, down) = self.checked();
        let cols = if rows == 16 { 128 } else { 64 };
        // Scales of FP8 for each eight of 64 rows of the weight, and for each 32 columns.
        let (block_shift, scales) = match self.weights.format {
            ExpertFormat::Fp8(scales) => (scales.block_shift(), 64 / FP8_ROWS * cols / 32),
            _ => (0, 0),
        };
        Launch {
            kernel: tiles_kernel(format, rows, down),
            grid: [self.n.div_ceil(64), self.number_of_tiles(rows), 1],
            block: [128, 1, 1],
            shared_bytes: (rows + 64) * (cols + 8) * 2 + scales * 4,
            args: args.u32(block_shift),
            overlaps: true,
        }
    }

    /// Number of tiles of `rows` rows that suffices whatever the routes are: each expert with
    /// routes has at most one that isn't full.
    fn number_of_tiles(&self, rows: u32) -> u32 {
        let tiles = self.experts.min(self.routes) + self.routes / rows;
        assert!(tiles <= 65_535, "moe_linear: {tiles} tiles");
        tiles
    }

    /// Checks sizes and pointers, and returns the arguments that both kernels have, and the
    /// constants FORMAT and DOWN.
    fn checked(&self) -> (Args, u32, u32) {
        let Self { x, weights, out, routes, experts, n, k, .. } = *self;
        check::shape("moe_linear", routes, experts, &[x, self.order, self.starts, weights.at, out]);
        assert!(
            n > 0 && k > 0 && n.is_multiple_of(2) && k.is_multiple_of(8),
            "moe_linear: weights of {n} by {k}"
        );
        assert!([x, weights.at, out].iter().all(|p| p.is_wide()), "moe_linear: a pointer is misaligned");
        let (format, scales) = self.format();
        let (down, per_token) = match self.layer {
            MoeLayer::GateUp { per_token } => (0, per_token),
            MoeLayer::Down => (1, 1),
        };
        assert!(per_token > 0, "moe_linear: no experts of a token");
        let args = Args::new().ptr(x).ptr(self.order).ptr(self.starts).ptr(weights.at).ptr(scales);
        let args = args.optional(weights.bias).ptr(out).u32(n).u32(k).u32(experts).u32(per_token);
        (args, format, down)
    }

    fn format(&self) -> (u32, DevicePtr) {
        match self.weights.format {
            ExpertFormat::Bf16 => (0, DevicePtr::NULL),
            ExpertFormat::Mxfp4 { scales } => {
                assert!(
                    self.k.is_multiple_of(32) && scales != DevicePtr::NULL,
                    "moe_linear: MXFP4 of {}",
                    self.k
                );
                (1, scales)
            }
            ExpertFormat::Fp8(scales) => {
                scales.check("moe_linear", self.n, self.k);
                (2, scales.at)
            }
        }
    }

    pub(crate) fn variants() -> Vec<Variant> {
        let tiles = |format| {
            [(16, 0), (16, 1), (64, 0), (64, 1)].map(|(rows, down)| tiles_kernel(format, rows, down))
        };
        let skinny = |format| [0, 1].map(|down| skinny_kernel(format, down));
        (0..3).flat_map(tiles).chain((0..3).flat_map(skinny)).map(|kernel| kernel.variant()).collect()
    }
}

fn skinny_kernel(format: u32, down: u32) -> KernelId {
    let defines = Defines::new(&[("FORMAT", format), ("DOWN", down)]);
    KernelId { source: &SKINNY, defines, entry: "moe_skinny" }
}

fn tiles_kernel(format: u32, rows: u32, down: u32) -> KernelId {
    let defines = Defines::new(&[("FORMAT", format), ("TILE_M", rows), ("DOWN", down)]);
    KernelId { source: &TILES, defines, entry: "moe_linear" }
}

//! Linear layers of at most 16 rows, which take as long as reading the weight takes.

use super::{Linear, LinearInput, LinearStore, LinearWeight};
use crate::check::THREADS;
use crate::{Args, Defines, KernelId, KernelSource, Launch, Variant};

static SOURCE: KernelSource = KernelSource {
    name: "linear_skinny.cu",
    text: concat!(
        "#line 1 \"fp8.cuh\"\n",
        include_str!("../../fp8.cuh"),
        "\n#line 1 \"linear_store.cuh\"\n",
        include_str!("../../linear_store.cuh"),
        "\n#line 1 \"linear_skinny_x.cuh\"\n",
        include_str!("../../linear_skinny_x.cuh"),
        "\n#line 1 \"linear_skinny.cu\"\n",
        include_str!("../../linear_skinny.cu")
    ),
};

/// Rows of x in one product of tensor cores.
const TILE: u32 = 8;
/// Greatest number of rows of x.
const MOST_ROWS: u32 = 2 * TILE;
/// Greatest shared memory for x, so that three blocks fit on a multiprocessor.
const SHARED_X_BYTES: u32 = 64 << 10;
/// Columns of K that a warp takes at once.
const SPAN: u32 = 128;
const WARPS: u32 = THREADS / 32;

/// Where a block reads x from, and whether it takes the norm of x first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    Cached,
    Shared,
    Normed,
}

/// Bytes of shared memory that the rows of x take at most.
fn x_bytes(rows: u32, inputs: u32) -> Option<u32> {
    rows.checked_mul(2)?.checked_mul(inputs.checked_next_multiple_of(SPAN)?.checked_add(32)?)
}

/// Whether the rows of x fit in shared memory.
pub(super) fn is_shared(rows: u32, inputs: u32) -> bool {
    x_bytes(rows, inputs).is_some_and(|bytes| bytes <= SHARED_X_BYTES)
}

/// Whether the kernel takes such a weight, whose rows begin at multiples of 16 bytes; FP8 in
/// quantisation blocks of 128 columns only.
pub(super) fn takes(inputs: u32, weight: &LinearWeight) -> bool {
    inputs.is_multiple_of(8)
        && weight.at.is_wide()
        && weight.fp8.is_none_or(|scales| scales.fit_few_row_kernel())
}

impl Linear {
    /// Launch of `linear_skinny.cu`; `None` for more than 16 rows, for rows that don't begin at
    /// multiples of 16 bytes, for FP8 in quantisation blocks of other widths than 128 columns, and
    /// for a norm where [`Linear::takes_norm`] is false.
    ///
    /// # Panics
    /// Where there is nothing to compute, a pointer is null, or sizes don't fit the store.
    pub fn skinny(&self) -> Option<Launch> {
        let (x, norm) = self.checked();
        let takes = takes(self.inputs, &self.weight) && x.is_wide() && norm.is_wide();
        if self.rows > MOST_ROWS || !takes {
            return None;
        }
        let (input, eps) = match self.x {
            LinearInput::Normed { eps, .. } if Self::takes_norm(self.rows, self.inputs, &self.weight) => {
                (Input::Normed, eps)
            }
            LinearInput::Normed { .. } => return None,
            LinearInput::Bf16(_) if is_shared(self.rows, self.inputs) => (Input::Shared, 0.0),
            LinearInput::Bf16(_) => (Input::Cached, 0.0),
        };
        let tiles = self.rows.div_ceil(TILE);
        let (fp8, scales) = self.weight.format();
        let args =
            Args::new().ptr(x).ptr(norm).ptr(self.weight.at).ptr(scales).optional(self.bias).ptr(self.out);
        Some(Launch {
            kernel: KernelId {
                source: &SOURCE,
                defines: variant(tiles, input, self.store, fp8).defines,
                entry: "linear_skinny",
            },
            grid: [self.outputs.div_ceil(16), 1, 1],
            block: [THREADS, 1, 1],
            shared_bytes: self.shared_bytes(input, tiles),
            args: args.u32(self.rows).u32(self.outputs).u32(self.inputs).f32(eps),
            overlaps: true,
        })
    }

    /// Bytes for x and the sums of its norm; later, in their place, for sums of 16 outputs (20
    /// floats apart) of each row and warp.
    fn shared_bytes(&self, input: Input, tiles: u32) -> u32 {
        let x = match input {
            Input::Cached => 0,
            Input::Shared | Input::Normed => x_bytes(self.rows, self.inputs).unwrap_or(0),
        };
        let norm = if input == Input::Normed { self.rows * WARPS * 4 } else { 0 };
        (x + norm).max(WARPS * tiles * TILE * 20 * 4)
    }
}

fn variant(tiles: u32, input: Input, store: LinearStore, fp8: u32) -> Variant {
    let (shared, norm) = (u32::from(input != Input::Cached), u32::from(input == Input::Normed));
    let store = store.define();
    let defines = [("TILES", tiles), ("SHARED_X", shared), ("NORM", norm), ("STORE", store), ("FP8", fp8)];
    Variant { source: &SOURCE, defines: Defines::new(&defines) }
}

pub(super) fn variants() -> Vec<Variant> {
    let inputs =
        [(1, Input::Cached), (1, Input::Shared), (1, Input::Normed), (2, Input::Cached), (2, Input::Shared)];
    let of = |fp8| {
        let of = move |(tiles, input)| LinearStore::ALL.map(|store| variant(tiles, input, store, fp8));
        inputs.into_iter().flat_map(of)
    };
    (0..2).flat_map(of).collect()
}

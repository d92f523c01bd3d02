//! Linear layers of at most 16 rows, which take as long as reading the weight takes.

use super::{Linear, LinearInput, LinearStore};
use crate::check::THREADS;
use crate::{Args, Defines, KernelId, Launch, Source, Variant};

static SOURCE: Source = Source {
    name: "linear_skinny.cu",
    text: concat!(
        "#line 1 \"linear_store.cuh\"\n",
        include_str!("../../linear_store.cuh"),
        "\n#line 1 \"linear_skinny.cu\"\n",
        include_str!("../../linear_skinny.cu")
    ),
};

/// Rows of x in a product of tensor cores.
const TILE: u32 = 8;
/// Rows of x that are taken.
const MOST_ROWS: u32 = 2 * TILE;
/// Shared memory for x, so that three blocks of a processor have room.
const SHARED_X_BYTES: u32 = 64 << 10;
/// What a warp takes of K at once.
const SPAN: u32 = 128;
const WARPS: u32 = THREADS / 32;

/// Where x is kept, and what is done to it on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    Cached,
    Shared,
    Normed,
}

/// Bytes of shared memory for the rows of x.
fn x_bytes(rows: u32, inputs: u32) -> Option<u32> {
    rows.checked_mul(2)?.checked_mul(inputs.checked_next_multiple_of(SPAN)?.checked_add(32)?)
}

/// Whether the rows have room in shared memory.
pub(super) fn is_shared(rows: u32, inputs: u32) -> bool {
    x_bytes(rows, inputs).is_some_and(|bytes| bytes <= SHARED_X_BYTES)
}

impl Linear {
    /// The launch of `linear_skinny.cu`; none for more than 16 rows, rows that don't begin at multiples of 16 bytes, or a norm of
    /// more than [`Linear::takes_norm`] says.
    ///
    /// # Panics
    /// Where there is nothing to do, a pointer is null, or sizes don't fit the store.
    pub fn skinny(&self) -> Option<Launch> {
        let (x, norm) = self.checked();
        let wide = self.inputs.is_multiple_of(8) && [x, norm, self.weight].iter().all(|p| p.is_wide());
        if self.rows > MOST_ROWS || !wide {
            return None;
        }
        let (input, eps) = match self.x {
            LinearInput::Normed { eps, .. } if Self::takes_norm(self.rows, self.inputs) => {
                (Input::Normed, eps)
            }
            LinearInput::Normed { .. } => return None,
            LinearInput::Bf16(_) if is_shared(self.rows, self.inputs) => (Input::Shared, 0.0),
            LinearInput::Bf16(_) => (Input::Cached, 0.0),
        };
        let tiles = self.rows.div_ceil(TILE);
        let args = Args::new().ptr(x).ptr(norm).ptr(self.weight).optional(self.bias).ptr(self.out);
        Some(Launch {
            kernel: KernelId {
                source: &SOURCE,
                defines: variant(tiles, input, self.store).defines,
                entry: "linear_skinny",
            },
            grid: [self.outputs.div_ceil(16), 1, 1],
            block: [THREADS, 1, 1],
            shared_bytes: self.shared_bytes(input, tiles),
            args: args.u32(self.rows).u32(self.outputs).u32(self.inputs).f32(eps),
            overlaps: true,
        })
    }

    /// x and its norm's sums; then, in their place, sums of 16 outputs (20 places) of each row and warp.
    fn shared_bytes(&self, input: Input, tiles: u32) -> u32 {
        let x = match input {
            Input::Cached => 0,
            Input::Shared | Input::Normed => x_bytes(self.rows, self.inputs).unwrap_or(0),
        };
        let norm = if input == Input::Normed { self.rows * WARPS * 4 } else { 0 };
        (x + norm).max(WARPS * tiles * TILE * 20 * 4)
    }
}

fn variant(tiles: u32, input: Input, store: LinearStore) -> Variant {
    let (shared, norm) = (u32::from(input != Input::Cached), u32::from(input == Input::Normed));
    let defines = [("TILES", tiles), ("SHARED_X", shared), ("NORM", norm), ("STORE", store.define())];
    Variant { source: &SOURCE, defines: Defines::new(&defines) }
}

pub(super) fn variants() -> Vec<Variant> {
    let inputs =
        [(1, Input::Cached), (1, Input::Shared), (1, Input::Normed), (2, Input::Cached), (2, Input::Shared)];
    let of = |(tiles, input)| LinearStore::ALL.map(|store| variant(tiles, input, store));
    inputs.into_iter().flat_map(of).collect()
}

//! Linear layers of many rows, or of widths that no other kernel takes.

use super::{Linear, LinearInput, LinearStore};
use crate::check::{self, THREADS};
use crate::{Args, Defines, KernelId, Launch, Source, Variant};

static SOURCE: Source = Source {
    name: "linear_tiles.cu",
    text: concat!(
        "#line 1 \"linear_store.cuh\"\n",
        include_str!("../../linear_store.cuh"),
        "\n#line 1 \"linear_tiles.cu\"\n",
        include_str!("../../linear_tiles.cu")
    ),
};

/// Rows of x and of the weight that a block takes.
const LARGE: (u32, u32) = (128, 128);
const SMALL: (u32, u32) = (64, 64);
/// Rows of x up to which blocks are small: there are more of them, and fewer rows that aren't there.
const SMALL_ROWS: u32 = 64;
/// Parts of K in shared memory, of 64 bytes a row.
const STAGES: u32 = 4;

impl Linear {
    /// The launch of `linear_tiles.cu`; none with a norm.
    ///
    /// # Panics
    /// Where there is nothing to do, a pointer is null, or sizes don't fit the store.
    pub fn tiles(&self) -> Option<Launch> {
        let (x, _) = self.checked();
        let LinearInput::Bf16(_) = self.x else { return None };
        let (tile_m, tile_n) = if self.rows > SMALL_ROWS { LARGE } else { SMALL };
        let width = check::width(self.inputs, &[x, self.weight]);
        Some(Launch {
            kernel: KernelId {
                source: &SOURCE,
                defines: variant((tile_m, tile_n), width, self.store).defines,
                entry: "linear_tiles",
            },
            grid: [self.rows.div_ceil(tile_m), self.outputs.div_ceil(tile_n), 1],
            block: [THREADS, 1, 1],
            shared_bytes: STAGES * (tile_m + tile_n) * 64,
            args: Args::new()
                .ptr(x)
                .ptr(self.weight)
                .optional(self.bias)
                .ptr(self.out)
                .u32(self.rows)
                .u32(self.outputs)
                .u32(self.inputs),
            overlaps: true,
        })
    }
}

fn variant((tile_m, tile_n): (u32, u32), width: u32, store: LinearStore) -> Variant {
    let defines = [("TILE_M", tile_m), ("TILE_N", tile_n), ("WIDTH", width), ("STORE", store.define())];
    Variant { source: &SOURCE, defines: Defines::new(&defines) }
}

pub(super) fn variants() -> Vec<Variant> {
    let stores = || LinearStore::ALL.into_iter();
    let of = |tile, width| stores().map(move |store| variant(tile, width, store));
    [LARGE, SMALL].into_iter().flat_map(|tile| of(tile, 8).chain(of(tile, 1))).collect()
}

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

/// Sizes of a block's tile.
#[derive(Clone, Copy)]
struct Tile {
    /// Rows of x.
    m: u32,
    /// Rows of the weight.
    n: u32,
    /// Parts of K in shared memory at a time, 64 bytes of each row.
    stages: u32,
}

impl Tile {
    const LARGE: Self = Self { m: 128, n: 128, stages: 4 };
    const SMALL: Self = Self { m: 64, n: 64, stages: 12 };

    /// Up to 64 rows the tiles are small: there are more blocks, and fewer rows are padding.
    fn of(rows: u32) -> Self {
        if rows > Self::SMALL.m { Self::LARGE } else { Self::SMALL }
    }
}

impl Linear {
    /// Launch of `linear_tiles.cu`; `None` for an input with a norm.
    ///
    /// # Panics
    /// Where there is nothing to compute, a pointer is null, or sizes don't fit the store.
    pub fn tiles(&self) -> Option<Launch> {
        let (x, _) = self.checked();
        let LinearInput::Bf16(_) = self.x else { return None };
        let tile = Tile::of(self.rows);
        let width = check::width(self.inputs, &[x, self.weight]);
        Some(Launch {
            kernel: KernelId {
                source: &SOURCE,
                defines: variant(tile, width, self.store).defines,
                entry: "linear_tiles",
            },
            grid: [self.rows.div_ceil(tile.m), self.outputs.div_ceil(tile.n), 1],
            block: [THREADS, 1, 1],
            shared_bytes: tile.stages * (tile.m + tile.n) * 64,
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

fn variant(tile: Tile, width: u32, store: LinearStore) -> Variant {
    let Tile { m, n, stages } = tile;
    let defines =
        [("TILE_M", m), ("TILE_N", n), ("STAGES", stages), ("WIDTH", width), ("STORE", store.define())];
    Variant { source: &SOURCE, defines: Defines::new(&defines) }
}

pub(super) fn variants() -> Vec<Variant> {
    let stores = || LinearStore::ALL.into_iter();
    let of = |tile, width| stores().map(move |store| variant(tile, width, store));
    [Tile::LARGE, Tile::SMALL].into_iter().flat_map(|tile| of(tile, 8).chain(of(tile, 1))).collect()
}

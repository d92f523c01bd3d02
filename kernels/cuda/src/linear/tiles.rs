//! Linear layers of many rows, or of widths that no other kernel takes.

use super::{Linear, LinearInput, LinearStore};
use crate::check::{self, THREADS};
use crate::{Args, Defines, FP8_ROWS, Fp8Scales, KernelId, KernelSource, Launch, Variant};

static SOURCE: KernelSource = KernelSource {
    name: "linear_tiles.cu",
    text: concat!(
        "#line 1 \"fp8.cuh\"\n",
        include_str!("../../fp8.cuh"),
        "\n#line 1 \"linear_store.cuh\"\n",
        include_str!("../../linear_store.cuh"),
        "\n#line 1 \"linear_tile.cuh\"\n",
        include_str!("../../linear_tile.cuh"),
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
}

impl Tile {
    const LARGE: Self = Self { m: 128, n: 128 };
    const SMALL: Self = Self { m: 64, n: 64 };
    const LOW: Self = Self { m: 32, n: 64 };

    /// Up to 64 rows the tiles are small: there are more blocks, and fewer rows are padding. FP8
    /// has lower ones up to 32 rows: with 64 its instructions take longer than reading the weight.
    fn of(rows: u32, fp8: u32) -> Self {
        match rows {
            0..=32 if fp8 == 1 => Self::LOW,
            0..=64 => Self::SMALL,
            _ => Self::LARGE,
        }
    }

    /// Parts of K in shared memory at a time.
    fn stages(self) -> u32 {
        if self.m > Self::SMALL.m { 4 } else { 12 }
    }

    /// Threads of a block. In small tiles of FP8 no two warps convert the same codes.
    fn threads(self, fp8: u32) -> u32 {
        if self.m > Self::SMALL.m || fp8 == 0 { THREADS } else { THREADS / 2 }
    }

    /// Bytes of all stages: 32 columns of each row of x and of the weight, and a scale for each
    /// eight rows of FP8.
    fn shared_bytes(self, fp8: u32) -> u32 {
        let weight = if fp8 == 0 { self.n * 64 } else { self.n * 32 + self.n / FP8_ROWS * 4 };
        self.stages() * (self.m * 64 + weight)
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
        let (fp8, scales) = self.weight.format();
        let tile = Tile::of(self.rows, fp8);
        let width = check::width(self.inputs, &[x, self.weight.at]);
        let args = Args::new().ptr(x).ptr(self.weight.at).ptr(scales).optional(self.bias).ptr(self.out);
        let block_shift = self.weight.fp8.map_or(0, Fp8Scales::block_shift);
        Some(Launch {
            kernel: KernelId {
                source: &SOURCE,
                defines: variant(tile, width, self.store, fp8).defines,
                entry: "linear_tiles",
            },
            grid: [self.rows.div_ceil(tile.m), self.outputs.div_ceil(tile.n), 1],
            block: [tile.threads(fp8), 1, 1],
            shared_bytes: tile.shared_bytes(fp8),
            args: args.u32(self.rows).u32(self.outputs).u32(self.inputs).u32(block_shift),
            overlaps: true,
        })
    }
}

fn variant(tile: Tile, width: u32, store: LinearStore, fp8: u32) -> Variant {
    let sizes = [("TILE_M", tile.m), ("TILE_N", tile.n), ("STAGES", tile.stages())];
    let format = [("THREADS", tile.threads(fp8)), ("WIDTH", width), ("STORE", store.define()), ("FP8", fp8)];
    Variant { source: &SOURCE, defines: Defines::new(&[&sizes[..], &format].concat()) }
}

pub(super) fn variants() -> Vec<Variant> {
    let of = |tile, (width, fp8)| LinearStore::ALL.map(|store| variant(tile, width, store, fp8));
    // Rows of FP8 begin at multiples of 16 bytes.
    let formats = |tile| [(8, 0), (1, 0), (8, 1)].map(|format| of(tile, format)).concat();
    [Tile::LARGE, Tile::SMALL].into_iter().flat_map(formats).chain(of(Tile::LOW, (8, 1))).collect()
}

//! Attention of many rows of each sequence.

use ops::QkvShape;

use super::Attention;
use crate::{Defines, DevicePtr, KernelId, KernelSource, Launch, Variant};

static SOURCE: KernelSource =
    KernelSource { name: "attention_prefill.cu", text: include_str!("../../attention_prefill.cu") };

/// [`Attention`] of the rows in a list of tiles. Other rows are left as they are; `lanes` and
/// `positions` aren't read.
#[derive(Debug, Clone, Copy)]
pub struct AttentionPrefill {
    /// Parameters; `head_dim` is 32, 64, 96 or 128.
    pub attention: Attention,
    /// List made by [`prefill_tiles`] of tiles of [`AttentionPrefill::TILE_ROWS`] rows.
    pub tiles: DevicePtr,
    /// Number of tiles.
    pub count: u32,
}

/// Consecutive rows of one sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrefillRows {
    /// Index of the first row.
    pub first_row: u32,
    /// Number of rows.
    pub rows: u32,
    /// Position of the first row in the sequence.
    pub position: u32,
    /// Lane of the sequence.
    pub lane: u32,
}

impl AttentionPrefill {
    /// Rows of a tile.
    pub const TILE_ROWS: u32 = 128;

    /// Whether there is a kernel for these heads.
    pub fn supports(shape: QkvShape) -> bool {
        [32, 64, 96, 128].contains(&shape.head_dim) && shape.heads <= 65_535
    }

    /// # Panics
    /// Where there is nothing to do, a pointer is null or misaligned, or the heads aren't
    /// supported.
    pub fn launch(&self) -> Launch {
        let [heads, _, head_dim] = self.attention.checked("attention_prefill");
        let shape = self.attention.spec.shape;
        assert!(Self::supports(shape), "attention_prefill: {shape:?}");
        assert!(
            self.count > 0 && self.tiles != DevicePtr::NULL && self.tiles.is_wide(),
            "attention_prefill: tiles"
        );
        Launch {
            kernel: Self::kernel(head_dim),
            grid: [self.count, heads, 1],
            block: [256, 1, 1],
            // Keys and values in two stages.
            shared_bytes: 2 * 2 * 64 * head_dim * 2,
            args: self.attention.args().ptr(self.tiles),
            overlaps: true,
        }
    }

    fn kernel(head_dim: u32) -> KernelId {
        KernelId {
            source: &SOURCE,
            defines: Defines::new(&[("HEAD_DIM", head_dim)]),
            entry: "attention_prefill",
        }
    }

    pub(crate) fn variants() -> Vec<Variant> {
        [32, 64, 96, 128].map(|dim| Self::kernel(dim).variant()).to_vec()
    }
}

/// List of the tiles of these rows, four words for each tile of up to `tile_rows` rows.
pub fn prefill_tiles(sequences: &[PrefillRows], tile_rows: u32) -> Vec<u32> {
    let mut tiles = Vec::new();
    write_prefill_tiles(sequences.iter().copied(), tile_rows, &mut tiles);
    tiles
}

/// Replaces `tiles` by the list of the tiles of these rows.
pub fn write_prefill_tiles(
    sequences: impl Iterator<Item = PrefillRows>,
    tile_rows: u32,
    tiles: &mut Vec<u32>,
) {
    tiles.clear();
    for PrefillRows { first_row, rows, position, lane } in sequences {
        for at in (0..rows).step_by(tile_rows as usize) {
            tiles.extend([first_row + at, tile_rows.min(rows - at), position + at, lane]);
        }
    }
}

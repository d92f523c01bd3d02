//! Attention over the compressed cache for many rows of each sequence.

use super::{MlaAttention, supports_mla_tiles};
use crate::{Defines, DevicePtr, KernelId, KernelSource, Launch, Variant};

static SOURCE: KernelSource = KernelSource {
    name: "mla_prefill.cu",
    text: concat!(
        "#line 1 \"mla_cached.cuh\"\n",
        include_str!("../../mla_cached.cuh"),
        "\n#line 1 \"mla_prefill.cu\"\n",
        include_str!("../../mla_prefill.cu")
    ),
};

/// Pairs of a token and a head that a block computes.
const PAIRS: u32 = 64;

/// [`MlaAttention`] of the rows in a list of tiles. Other rows are left as they are; `lanes` and
/// `positions` aren't read.
#[derive(Debug, Clone, Copy)]
pub struct MlaPrefill {
    /// Parameters that all kernels share; [`supports_mla_tiles`].
    pub attention: MlaAttention,
    /// List made by [`crate::prefill_tiles`] of tiles of [`MlaPrefill::tile_rows`] rows.
    pub tiles: DevicePtr,
    /// Number of tiles.
    pub count: u32,
    /// Bytes of shared memory that a block may have on the device: they decide how many cached rows
    /// are copied at a time.
    pub block_shared_bytes: u32,
}

impl MlaPrefill {
    /// Rows of a tile: the fewest whose pairs with all heads are whole blocks.
    pub fn tile_rows(heads: u32) -> u32 {
        PAIRS >> heads.trailing_zeros().min(PAIRS.ilog2())
    }

    /// # Panics
    /// Where there is nothing to do, a pointer is null or misaligned, or the shape isn't supported.
    pub fn launch(&self) -> Launch {
        let [heads, rank, _, rope, _] = self.attention.checked("mla_prefill");
        assert!(supports_mla_tiles(self.attention.shape), "mla_prefill: {:?}", self.attention.shape);
        assert!(
            self.count > 0 && self.tiles != DevicePtr::NULL && self.tiles.is_wide(),
            "mla_prefill: tiles"
        );
        let tokens = if shared_bytes(rank + rope, 32) <= self.block_shared_bytes { 32 } else { 16 };
        Launch {
            kernel: Self::kernel(rank, rope, tokens),
            grid: [self.count, heads * Self::tile_rows(heads) / PAIRS, 1],
            block: [256, 1, 1],
            shared_bytes: shared_bytes(rank + rope, tokens),
            args: self.attention.args().ptr(self.tiles),
            overlaps: true,
        }
    }

    fn kernel(rank: u32, rope: u32, tokens: u32) -> KernelId {
        let defines = Defines::new(&[("RANK", rank), ("ROPE", rope), ("TOKENS", tokens)]);
        KernelId { source: &SOURCE, defines, entry: "mla_prefill" }
    }

    pub(crate) fn variants() -> Vec<Variant> {
        [(512, 64, 32), (512, 64, 16), (64, 16, 32)]
            .map(|(rank, rope, tokens)| Self::kernel(rank, rope, tokens).variant())
            .to_vec()
    }
}

/// Bytes for three tiles of `tokens` cached rows, four parts of each score, weights, and a factor
/// of each pair.
fn shared_bytes(width: u32, tokens: u32) -> u32 {
    3 * tokens * width * 2 + PAIRS * (tokens + 8) * (4 * 4 + 2) + PAIRS * 4
}

#[cfg(test)]
mod tests {
    use ops::MlaShape;

    use super::*;

    #[test]
    fn tiles_are_the_fewest_rows_of_whole_blocks() {
        let blocks = |heads| (MlaPrefill::tile_rows(heads), heads * MlaPrefill::tile_rows(heads) / PAIRS);
        assert_eq!([1, 5, 16].map(blocks), [(64, 1), (64, 5), (4, 1)]);
        assert_eq!([20, 64, 96, 128].map(blocks), [(16, 5), (1, 1), (2, 3), (1, 2)]);
    }

    /// 99 kB: compute capability 8.6, 8.9 and 12.0; 163 kB: 8.0; 227 kB: 9.0.
    #[test]
    fn every_device_has_shared_memory_for_the_widest_rows() {
        let widest = MlaShape { heads: 1, rank: 512, nope: 8, rope: 128, value: 8 };
        assert!(supports_mla_tiles(widest) && shared_bytes(512 + 128, 16) <= 99 << 10);
        assert!(shared_bytes(512 + 64, 32) <= 163 << 10);
    }
}

//! Attention over the compressed cache for rows that decode: the positions of a row are divided
//! among blocks of the grid.

use ops::MlaShape;

use super::{MlaAttention, supports_mla_tiles};
use crate::{Defines, DevicePtr, KernelId, KernelSource, Launch, Variant};

static SOURCE: KernelSource = KernelSource {
    name: "mla_decode.cu",
    text: concat!(
        "#line 1 \"mla_cached.cuh\"\n",
        include_str!("../../mla_cached.cuh"),
        "\n#line 1 \"mla_decode.cu\"\n",
        include_str!("../../mla_decode.cu")
    ),
};

/// [`MlaAttention`] of the rows in a list of spans. Rows that are not in the list are left as they
/// are.
#[derive(Debug, Clone, Copy)]
pub struct MlaDecode {
    /// Parameters that all kernels share; [`supports_mla_tiles`].
    pub attention: MlaAttention,
    /// List made by [`crate::decode_work`] from the rows' positions, without a window.
    pub work: DevicePtr,
    /// Buffer for the partial results of spans: see [`MlaDecode::partial_bytes`].
    pub partials: DevicePtr,
    /// `[rows, ⌈heads / 16⌉]` u32: zero before and after the launch.
    pub counters: DevicePtr,
    /// Number of blocks in the grid: as many as the device runs at once.
    pub blocks: u32,
}

impl MlaDecode {
    /// Bytes of the partial results of `items` spans.
    pub fn partial_bytes(items: usize, shape: MlaShape) -> usize {
        items * shape.heads.div_ceil(16) * 16 * (shape.rank + 2) * 4
    }

    /// # Panics
    /// Where there is nothing to do, a pointer is null or misaligned, or the shape isn't supported.
    pub fn launch(&self) -> Launch {
        let [_, rank, _, rope, _] = self.attention.checked("mla_decode");
        assert!(supports_mla_tiles(self.attention.shape), "mla_decode: {:?}", self.attention.shape);
        let pointers = [self.work, self.partials, self.counters];
        assert!(
            pointers.iter().all(|p| *p != DevicePtr::NULL) && self.work.is_wide(),
            "mla_decode: a pointer"
        );
        assert!(self.blocks > 0, "mla_decode: no blocks");
        let width = rank + rope;
        Launch {
            kernel: Self::kernel(rank, rope),
            grid: [self.blocks, 1, 1],
            block: [128, 1, 1],
            // Two tiles of 32 rows, 16 queries, 16 rows of scores, and a flag of the last block to
            // end.
            shared_bytes: (2 * 32 + 16) * width * 2 + 16 * 33 * 4 + 16,
            args: self.attention.args().ptr(self.work).ptr(self.partials).ptr(self.counters),
            overlaps: true,
        }
    }

    fn kernel(rank: u32, rope: u32) -> KernelId {
        let defines = Defines::new(&[("RANK", rank), ("ROPE", rope)]);
        KernelId { source: &SOURCE, defines, entry: "mla_decode" }
    }

    pub(crate) fn variants() -> Vec<Variant> {
        vec![Self::kernel(512, 64).variant(), Self::kernel(64, 16).variant()]
    }
}

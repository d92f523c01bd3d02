//! Attention of latent queries over the compressed cache.

use ops::MlaShape;

use super::widths;
use crate::check;
use crate::{Args, Defines, DevicePtr, KernelId, KernelSource, Launch, Variant, size};

static SOURCE: KernelSource = KernelSource {
    name: "mla_attention.cu",
    text: concat!(
        "#line 1 \"softmax.cuh\"\n",
        include_str!("../../softmax.cuh"),
        "\n#line 1 \"mla_attention.cu\"\n",
        include_str!("../../mla_attention.cu")
    ),
};

/// `out = softmax(scale * q · rows) · rows[:rank]` for each row and head, over the positions up to
/// the row's own.
#[derive(Debug, Clone, Copy)]
pub struct MlaAttention {
    /// `[rows, heads, rank + rope]` bf16.
    pub queries: DevicePtr,
    /// `[blocks, 64, rank + rope]` bf16, the rows of this step included.
    pub cache: DevicePtr,
    /// `[lanes, table_width]` u32: the KV block of each 64 positions of a lane.
    pub tables: DevicePtr,
    /// Entries of a lane's table.
    pub table_width: u32,
    /// `[rows]` u32: the lane of each row.
    pub lanes: DevicePtr,
    /// `[rows]` u32: the position of each row in its sequence.
    pub positions: DevicePtr,
    /// `[rows, heads, rank]` bf16.
    pub out: DevicePtr,
    /// Number of rows.
    pub rows: u32,
    /// Widths; the rank is at most 1024.
    pub shape: MlaShape,
    /// Factor of scores.
    pub scale: f32,
}

impl MlaAttention {
    /// # Panics
    /// Where there is nothing to compute, a pointer is null or misaligned, or a width isn't
    /// supported.
    pub fn launch(&self) -> Launch {
        let [heads, rank, _, rope, _] = self.checked("mla_attention");
        let items = self.rows.checked_mul(heads).expect("rows and heads of a grid");
        Launch {
            kernel: Self::kernel(rank, rope),
            grid: [items.div_ceil(4), 1, 1],
            block: [128, 1, 1],
            shared_bytes: 4 * 4 * (rank + rope + 64),
            args: self.args(),
            overlaps: true,
        }
    }

    /// Checks the parameters that all kernels share; returns [`widths`].
    pub(super) fn checked(&self, operation: &str) -> [u32; 5] {
        let widths = widths(self.shape, operation);
        let wide = [self.queries, self.cache, self.out];
        check::shape(operation, self.rows, self.table_width, &[self.tables, self.lanes, self.positions]);
        check::shape(operation, self.rows, widths[1], &wide);
        assert!(self.shape.rank <= 1024, "{operation}: rank {}", self.shape.rank);
        assert!(wide.iter().all(|p| p.is_wide()), "{operation}: a pointer is misaligned");
        assert!(self.scale > 0.0 && self.scale.is_finite(), "{operation}: scores times {}", self.scale);
        widths
    }

    /// First arguments of all attention kernels over a compressed cache.
    pub(super) fn args(&self) -> Args {
        let args = Args::new().ptr(self.queries).ptr(self.cache).ptr(self.tables).ptr(self.lanes);
        let args = args.ptr(self.positions).ptr(self.out).u32(self.rows).u32(size(self.shape.heads));
        args.u32(self.table_width).f32(self.scale)
    }

    fn kernel(rank: u32, rope: u32) -> KernelId {
        let defines = Defines::new(&[("RANK", rank), ("ROPE", rope)]);
        KernelId { source: &SOURCE, defines, entry: "mla_attention" }
    }

    pub(crate) fn variants() -> Vec<Variant> {
        vec![Self::kernel(512, 64).variant(), Self::kernel(32, 16).variant()]
    }
}

//! Gathers rows of a matrix by their indices.

use crate::check::{self, THREADS};
use crate::{Args, Defines, DevicePtr, KernelId, KernelSource, Launch, Variant};

static SOURCE: KernelSource =
    KernelSource { name: "gather_rows.cu", text: include_str!("../gather_rows.cu") };

/// `out[i] = x[indices[i]]`.
#[derive(Debug, Clone, Copy)]
pub struct GatherRows {
    /// `[any number of rows, cols]` f32.
    pub x: DevicePtr,
    /// `[rows]` u32: indices of rows of `x`.
    pub indices: DevicePtr,
    /// `[rows, cols]` f32.
    pub out: DevicePtr,
    /// Rows of the result.
    pub rows: u32,
    /// Width of a row.
    pub cols: u32,
}

impl GatherRows {
    /// # Panics
    /// Where there are no rows or columns, or a pointer is null.
    pub fn launch(&self) -> Launch {
        check::shape("gather_rows", self.rows, self.cols, &[self.x, self.indices, self.out]);
        let wide = self.cols.is_multiple_of(4) && self.x.is_wide() && self.out.is_wide();
        let width = if wide { 4 } else { 1 };
        Launch {
            kernel: KernelId { source: &SOURCE, defines: variant(width).defines, entry: "gather_rows" },
            grid: [self.rows, (self.cols / width).div_ceil(THREADS), 1],
            block: [THREADS, 1, 1],
            shared_bytes: 0,
            args: Args::new().ptr(self.x).ptr(self.indices).ptr(self.out).u32(self.cols),
            overlaps: true,
        }
    }

    pub(crate) fn variants() -> Vec<Variant> {
        [1, 4].map(variant).to_vec()
    }
}

fn variant(width: u32) -> Variant {
    Variant { source: &SOURCE, defines: Defines::new(&[("WIDTH", width)]) }
}

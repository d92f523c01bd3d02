//! RMS norm of rows of the residual stream, and of what is added to it.

use ops::StoreMode;

use crate::check::{self, THREADS};
use crate::{Args, Defines, DevicePtr, KernelId, KernelSource, Launch, Variant};

static SOURCE: KernelSource = KernelSource { name: "rms_norm.cu", text: include_str!("../rms_norm.cu") };

/// `out = x / sqrt(mean(x²) + eps) * weight`, per row, or `out += …`.
#[derive(Debug, Clone, Copy)]
pub struct RmsNorm {
    /// `[rows, cols]` f32.
    pub x: DevicePtr,
    /// `[cols]` f32.
    pub weight: DevicePtr,
    /// `[rows, cols]`: bf16 that is replaced, or f32 that is added to.
    pub out: DevicePtr,
    /// Which of the two.
    pub store: StoreMode,
    /// Rows.
    pub rows: u32,
    /// Width of a row.
    pub cols: u32,
    /// Added to the mean square.
    pub eps: f32,
}

impl RmsNorm {
    /// # Panics
    /// Where there are no rows or columns, or a pointer is null.
    pub fn launch(&self) -> Launch {
        let pointers = [self.x, self.weight, self.out];
        check::shape("rms_norm", self.rows, self.cols, &pointers);
        let Variant { source, defines } = Self::variant(self.store, check::width(self.cols, &pointers));
        Launch {
            kernel: KernelId { source, defines, entry: "rms_norm" },
            grid: [self.rows, 1, 1],
            block: [THREADS, 1, 1],
            shared_bytes: 32 * 4,
            args: Args::new().ptr(self.x).ptr(self.weight).ptr(self.out).u32(self.cols).f32(self.eps),
            overlaps: true,
        }
    }

    fn variant(store: StoreMode, width: u32) -> Variant {
        let add = u32::from(store == StoreMode::Accumulate);
        Variant { source: &SOURCE, defines: Defines::new(&[("ADD", add), ("WIDTH", width)]) }
    }

    pub(crate) fn variants() -> Vec<Variant> {
        let both =
            |width| [StoreMode::Overwrite, StoreMode::Accumulate].map(|store| Self::variant(store, width));
        [1, 8].into_iter().flat_map(both).collect()
    }
}

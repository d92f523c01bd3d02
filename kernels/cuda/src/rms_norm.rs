//! RMS norm of rows of the residual stream.

use crate::check::{self, THREADS};
use crate::{Args, Defines, DevicePtr, KernelId, Launch, Source, Variant};

static SOURCE: Source = Source { name: "rms_norm.cu", text: include_str!("../rms_norm.cu") };

/// `out = x / sqrt(mean(x²) + eps) * weight`, per row.
#[derive(Debug, Clone, Copy)]
pub struct RmsNorm {
    /// `[rows, cols]` f32.
    pub x: DevicePtr,
    /// `[cols]` f32.
    pub weight: DevicePtr,
    /// `[rows, cols]` bf16.
    pub out: DevicePtr,
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
        Launch {
            kernel: KernelId {
                source: &SOURCE,
                defines: Defines::new(&[("WIDTH", check::width(self.cols, &pointers))]),
                entry: "rms_norm",
            },
            grid: [self.rows, 1, 1],
            block: [THREADS, 1, 1],
            shared_bytes: 32 * 4,
            args: Args::new().ptr(self.x).ptr(self.weight).ptr(self.out).u32(self.cols).f32(self.eps),
            overlaps: true,
        }
    }

    pub(crate) fn variants() -> Vec<Variant> {
        [1, 8].map(|width| Variant { source: &SOURCE, defines: Defines::new(&[("WIDTH", width)]) }).to_vec()
    }
}

//! Activation of gpt-oss's experts.

use crate::check::{self, THREADS};
use crate::{Args, Defines, DevicePtr, KernelId, KernelSource, Launch, Variant};

static SOURCE: KernelSource =
    KernelSource { name: "clamped_swiglu.cu", text: include_str!("../../clamped_swiglu.cu") };

/// `out = (up + 1) * gate / (1 + exp(-alpha * gate))`, with `gate ≤ limit` and
/// `-limit ≤ up ≤ limit`.
#[derive(Debug, Clone, Copy)]
pub struct ClampedSwiglu {
    /// `[rows, 2 * cols]` bf16: columns of gate and up alternate.
    pub gate_up: DevicePtr,
    /// `[rows, cols]` bf16.
    pub out: DevicePtr,
    /// Rows.
    pub rows: u32,
    /// Columns of gate, and of the result.
    pub cols: u32,
    /// Factor within the sigmoid.
    pub alpha: f32,
    /// Bound of gate and up.
    pub limit: f32,
}

impl ClampedSwiglu {
    /// # Panics
    /// Where there are no rows or columns, or a pointer is null.
    pub fn launch(&self) -> Launch {
        let pointers = [self.gate_up, self.out];
        check::shape("clamped_swiglu", self.rows, self.cols, &pointers);
        let width = check::width(self.cols, &pointers);
        Launch {
            kernel: KernelId {
                source: &SOURCE,
                defines: Defines::new(&[("WIDTH", width)]),
                entry: "clamped_swiglu",
            },
            grid: [self.rows, (self.cols / width).div_ceil(THREADS), 1],
            block: [THREADS, 1, 1],
            shared_bytes: 0,
            args: Args::new().ptr(self.gate_up).ptr(self.out).u32(self.cols).f32(self.alpha).f32(self.limit),
            overlaps: true,
        }
    }

    pub(crate) fn variants() -> Vec<Variant> {
        [1, 8].map(|width| Variant { source: &SOURCE, defines: Defines::new(&[("WIDTH", width)]) }).to_vec()
    }
}

//! The middle of a gated feed-forward layer (`SwiGLU`).

use crate::check::{self, THREADS};
use crate::{Args, Defines, DevicePtr, KernelId, Launch, Source, Variant};

static SOURCE: Source = Source { name: "silu_mul.cu", text: include_str!("../silu_mul.cu") };

/// `out = gate / (1 + exp(-gate)) * up`.
#[derive(Debug, Clone, Copy)]
pub struct SiluMul {
    /// `[rows, 2 * cols]` bf16: `group` columns of gate, then `group` of up, and so on.
    pub gate_up: DevicePtr,
    /// `[rows, cols]` bf16.
    pub out: DevicePtr,
    /// Rows.
    pub rows: u32,
    /// Columns of gate, and of the result.
    pub cols: u32,
    /// Columns of gate that lie together; divides `cols`. Equal to `cols` if all of gate comes
    /// first.
    pub group: u32,
}

impl SiluMul {
    /// # Panics
    /// Where there are no rows or columns, a pointer is null, or groups don't divide the columns.
    pub fn launch(&self) -> Launch {
        let pointers = [self.gate_up, self.out];
        check::shape("silu_mul", self.rows, self.cols, &pointers);
        assert!(self.group > 0 && self.cols.is_multiple_of(self.group), "silu_mul: groups of {}", self.group);
        let width = check::width(self.group, &pointers);
        Launch {
            kernel: KernelId {
                source: &SOURCE,
                defines: Defines::new(&[("WIDTH", width)]),
                entry: "silu_mul",
            },
            grid: [self.rows, (self.cols / width).div_ceil(THREADS), 1],
            block: [THREADS, 1, 1],
            shared_bytes: 0,
            args: Args::new().ptr(self.gate_up).ptr(self.out).u32(self.cols).u32(self.group),
            overlaps: true,
        }
    }

    pub(crate) fn variants() -> Vec<Variant> {
        [1, 8].map(|width| Variant { source: &SOURCE, defines: Defines::new(&[("WIDTH", width)]) }).to_vec()
    }
}

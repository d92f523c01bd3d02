//! The middle of a gated feed-forward layer.

use ops::GateActivation;

use crate::check::{self, THREADS};
use crate::{Args, Defines, DevicePtr, KernelId, KernelSource, Launch, Variant};

static SOURCE: KernelSource = KernelSource { name: "gate_mul.cu", text: include_str!("../gate_mul.cu") };

/// `out = activation(gate) * up`.
#[derive(Debug, Clone, Copy)]
pub struct GateMul {
    /// Activation of the gate.
    pub activation: GateActivation,
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

impl GateMul {
    /// # Panics
    /// Where there are no rows or columns, a pointer is null, or groups don't divide the columns.
    pub fn launch(&self) -> Launch {
        let pointers = [self.gate_up, self.out];
        check::shape("gate_mul", self.rows, self.cols, &pointers);
        assert!(self.group > 0 && self.cols.is_multiple_of(self.group), "gate_mul: groups of {}", self.group);
        let width = check::width(self.group, &pointers);
        let Variant { source, defines } = Self::variant(self.activation, width);
        Launch {
            kernel: KernelId { source, defines, entry: "gate_mul" },
            grid: [self.rows, (self.cols / width).div_ceil(THREADS), 1],
            block: [THREADS, 1, 1],
            shared_bytes: 0,
            args: Args::new().ptr(self.gate_up).ptr(self.out).u32(self.cols).u32(self.group),
            overlaps: true,
        }
    }

    fn variant(activation: GateActivation, width: u32) -> Variant {
        let gate = match activation {
            GateActivation::Silu => 0,
            GateActivation::GeluTanh => 1,
        };
        Variant { source: &SOURCE, defines: Defines::new(&[("GATE", gate), ("WIDTH", width)]) }
    }

    pub(crate) fn variants() -> Vec<Variant> {
        let both =
            |width| [GateActivation::Silu, GateActivation::GeluTanh].map(|gate| Self::variant(gate, width));
        [1, 8].into_iter().flat_map(both).collect()
    }
}

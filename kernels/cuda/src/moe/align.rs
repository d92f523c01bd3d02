//! Ordering of routes by expert.

use crate::check;
use crate::{Args, Defines, DevicePtr, KernelId, KernelSource, Launch, Variant};

static SOURCE: KernelSource = KernelSource { name: "moe_align.cu", text: include_str!("../../moe_align.cu") };

/// Orders routes by expert; routes of one expert stay in their order.
#[derive(Debug, Clone, Copy)]
pub struct MoeAlign {
    /// `[routes]` u32: the expert of each.
    pub chosen: DevicePtr,
    /// `[routes]` u32: the route at each place of the order.
    pub order: DevicePtr,
    /// `[experts + 1]` u32: the first place of each expert's routes, and `routes`.
    pub starts: DevicePtr,
    /// Number of routes: tokens times experts of a token.
    pub routes: u32,
    /// Number of experts.
    pub experts: u32,
}

impl MoeAlign {
    /// # Panics
    /// Where there are no routes or experts, or a pointer is null.
    pub fn launch(&self) -> Launch {
        check::shape("moe_align", self.routes, self.experts, &[self.chosen, self.order, self.starts]);
        Launch {
            kernel: KernelId { source: &SOURCE, defines: Defines::new(&[]), entry: "moe_align" },
            grid: [self.experts.div_ceil(4), 1, 1],
            block: [128, 1, 1],
            shared_bytes: 0,
            args: Args::new()
                .ptr(self.chosen)
                .ptr(self.order)
                .ptr(self.starts)
                .u32(self.routes)
                .u32(self.experts),
            overlaps: true,
        }
    }

    pub(crate) fn variants() -> Vec<Variant> {
        vec![Variant { source: &SOURCE, defines: Defines::new(&[]) }]
    }
}

/// Reference: the order, and the first place of each expert.
pub fn moe_align_reference(chosen: &[u32], experts: u32) -> (Vec<u32>, Vec<u32>) {
    let mut order: Vec<u32> = (0..).take(chosen.len()).collect();
    order.sort_by_key(|route| chosen[*route as usize]);
    let before = |expert: u32| chosen.iter().filter(|e| **e < expert).count();
    #[expect(clippy::cast_possible_truncation, reason = "as many as routes")]
    let starts = (0..=experts).map(|expert| before(expert) as u32).collect();
    (order, starts)
}

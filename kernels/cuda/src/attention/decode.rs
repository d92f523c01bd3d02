//! Attention of rows that decode: their positions shared out over blocks.

use super::Attention;
use crate::{Defines, DevicePtr, KernelId, Launch, Source, Variant};

static SOURCE: Source =
    Source { name: "attention_decode.cu", text: include_str!("../../attention_decode.cu") };

/// Positions of a row that a block takes at once.
pub const SPAN: u32 = 256;

/// [`Attention`] of rows by the spans of a list. Rows that are not in the list are left as they are.
#[derive(Debug, Clone, Copy)]
pub struct AttentionDecode {
    /// Parameters; `heads / kv_heads` is at most 16, and `head_dim` 32, 64, 96 or 128.
    pub attention: Attention,
    /// What [`decode_work`] gives for the rows' positions and this window.
    pub work: DevicePtr,
    /// Room for the parts of spans: see [`AttentionDecode::partial_bytes`].
    pub partials: DevicePtr,
    /// `[rows, kv_heads]` u32, zero before and after.
    pub counters: DevicePtr,
    /// Blocks of the grid: as many as the device runs at once.
    pub blocks: u32,
}

impl AttentionDecode {
    /// Whether there is a kernel for these heads.
    pub fn supports(heads: u32, kv_heads: u32, head_dim: u32) -> bool {
        [32, 64, 96, 128].contains(&head_dim) && heads / kv_heads <= 16
    }

    /// Bytes of the parts of so many items.
    pub fn partial_bytes(items: usize, heads: u32, head_dim: u32) -> usize {
        items * heads as usize * (head_dim as usize + 2) * 4
    }

    /// # Panics
    /// Where there is nothing to do, a pointer is null or misaligned, or the heads aren't supported.
    pub fn launch(&self) -> Launch {
        let Attention { heads, kv_heads, head_dim, window, scale, .. } = self.attention;
        self.attention.check("attention_decode");
        assert!(Self::supports(heads, kv_heads, head_dim), "attention_decode: {heads} heads of {head_dim}");
        let pointers = [self.work, self.partials, self.counters];
        assert!(
            pointers.iter().all(|p| *p != DevicePtr::NULL) && self.work.is_wide(),
            "attention_decode: a pointer"
        );
        assert!(self.blocks > 0, "attention_decode: no blocks");
        Launch {
            kernel: Self::kernel(head_dim),
            grid: [self.blocks, 1, 1],
            block: [128, 1, 1],
            shared_bytes: 4 * 16 * (head_dim + 2) * 4 + 16,
            args: self
                .attention
                .args()
                .u32(window.unwrap_or(0))
                .f32(scale)
                .ptr(self.work)
                .ptr(self.partials)
                .ptr(self.counters),
            overlaps: true,
        }
    }

    fn kernel(head_dim: u32) -> KernelId {
        KernelId {
            source: &SOURCE,
            defines: Defines::new(&[("HEAD_DIM", head_dim)]),
            entry: "attention_decode",
        }
    }

    pub(crate) fn variants() -> Vec<Variant> {
        [32, 64, 96, 128].map(|dim| Self::kernel(dim).variant()).to_vec()
    }
}

/// The first position that is looked at for a row at this one, a multiple of 64, and how many spans there are from there on.
pub fn decode_spans(position: u32, window: Option<u32>) -> (u32, u32) {
    let first = window.map_or(0, |window| (position + 1).saturating_sub(window)) / 64 * 64;
    (first, (position - first) / SPAN + 1)
}

/// The spans of rows at these positions, four words each, behind four words of which the first is their number. Rows are numbered from 0
/// on. Of a row with a window only spans in it are listed.
pub fn decode_work(positions: &[u32], window: Option<u32>) -> Vec<u32> {
    let mut work = Vec::new();
    write_decode_work(0, positions, window, &mut work);
    work
}

/// The same of rows from `first_row` on, in place of what `work` has: several lists may share out a step's rows.
pub fn write_decode_work(first_row: u32, positions: &[u32], window: Option<u32>, work: &mut Vec<u32>) {
    work.clear();
    work.resize(4, 0);
    for (row, position) in (first_row..).zip(positions) {
        let ((first, count), own) = (decode_spans(*position, window), work[0]);
        for span in 0..count {
            work.extend([row, first + span * SPAN, own, count]);
        }
        work[0] += count;
    }
}

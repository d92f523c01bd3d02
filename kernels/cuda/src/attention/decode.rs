//! Attention of rows that decode: the positions of a row are divided among blocks of the grid.

use ops::QkvShape;

use super::Attention;
use crate::{Defines, DevicePtr, KernelId, KernelSource, Launch, Variant};

static SOURCE: KernelSource =
    KernelSource { name: "attention_decode.cu", text: include_str!("../../attention_decode.cu") };

/// Positions of a row that a block computes at once.
pub const SPAN: u32 = 256;

/// [`Attention`] of the rows in a list of spans. Rows that are not in the list are left as they
/// are.
#[derive(Debug, Clone, Copy)]
pub struct AttentionDecode {
    /// Parameters; `heads / kv_heads` is at most 16, and `head_dim` 32, 64, 96 or 128.
    pub attention: Attention,
    /// List made by [`decode_work`] from the rows' positions and the window.
    pub work: DevicePtr,
    /// Buffer for the partial results of spans: see [`AttentionDecode::partial_bytes`].
    pub partials: DevicePtr,
    /// `[rows, kv_heads]` u32: zero before and after the launch.
    pub counters: DevicePtr,
    /// Number of blocks in the grid: as many as the device runs at once.
    pub blocks: u32,
}

impl AttentionDecode {
    /// Whether there is a kernel for these heads.
    pub fn supports(shape: QkvShape) -> bool {
        [32, 64, 96, 128].contains(&shape.head_dim) && shape.group() <= 16
    }

    /// Bytes of the partial results of `items` spans.
    pub fn partial_bytes(items: usize, shape: QkvShape) -> usize {
        items * shape.heads * (shape.head_dim + 2) * 4
    }

    /// # Panics
    /// Where there is nothing to do, a pointer is null or misaligned, or the heads aren't
    /// supported.
    pub fn launch(&self) -> Launch {
        let [_, _, head_dim] = self.attention.checked("attention_decode");
        let shape = self.attention.spec.shape;
        assert!(Self::supports(shape), "attention_decode: {shape:?}");
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
            args: self.attention.args().ptr(self.work).ptr(self.partials).ptr(self.counters),
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

/// The first position that is computed for a row at `position` (a multiple of 64), and the number
/// of spans from there on.
pub fn decode_spans(position: u32, window: Option<u32>) -> (u32, u32) {
    let first = window.map_or(0, |window| (position + 1).saturating_sub(window)) / 64 * 64;
    (first, (position - first) / SPAN + 1)
}

/// List of the spans of rows at these positions: four words whose first is the number of spans,
/// then four words for each span. Rows are numbered from 0 on. Of a row with a window only spans in
/// the window are listed.
pub fn decode_work(positions: &[u32], window: Option<u32>) -> Vec<u32> {
    let mut work = Vec::new();
    write_decode_work(0, positions, window, &mut work);
    work
}

/// Replaces `work` by the list of the rows from `first_row` on: several lists may divide a step's
/// rows among them.
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

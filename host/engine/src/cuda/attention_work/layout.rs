//! Layout in memory of the lists of a step's attention work.

use cuda_kernels::decode_spans;

use super::{DecodeKind, WorkKinds, WorkSizes};

/// Byte offsets in the lists' memory: the lists of spans of each window, then the tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ListLayout {
    /// Spans that a list has room for.
    pub(super) spans: usize,
    /// Lists of each window.
    lists: usize,
    windows: usize,
    tiles: usize,
}

impl ListLayout {
    pub(super) fn new(kinds: &WorkKinds, WorkSizes { rows, lanes, context }: WorkSizes, most: usize) -> Self {
        let tiles = if kinds.tiles.is_some() { rows } else { 0 };
        let Some(DecodeKind { windows, .. }) = &kinds.decode else {
            return Self { spans: 0, lists: 0, windows: 0, tiles };
        };
        let last = u32::try_from(context.max(1) - 1).unwrap_or(u32::MAX);
        let of_row = decode_spans(last, widest(windows)).1 as usize;
        // Rows that pad a step have one span.
        let all = lanes.min(rows) * of_row + rows;
        let spans = most.max(of_row).min(all);
        // Two neighbouring lists of a window have more spans together than one list has room for.
        Self { spans, lists: 2 * all / spans + 1, windows: windows.len(), tiles }
    }

    fn list_bytes(self) -> usize {
        (self.spans + 1) * 16
    }

    pub(super) fn list(self, window: usize, list: usize) -> usize {
        (window * self.lists + list) * self.list_bytes()
    }

    pub(super) fn tiles(self) -> usize {
        self.list(self.windows, 0)
    }

    pub(super) fn bytes(self) -> usize {
        self.tiles() + self.tiles * 16
    }
}

/// The window with the most spans.
pub(super) fn widest(windows: &[Option<u32>]) -> Option<u32> {
    windows.iter().copied().max_by_key(|window| window.unwrap_or(u32::MAX)).flatten()
}

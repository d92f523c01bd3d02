//! Attention work of a step, as lists that the host writes and kernels read: spans of the rows that
//! decode, tiles of the other rows.
//!
//! Invariants: lists lie at addresses that never change, with room for the longest step, so that a
//! graph can be replayed with sequences of any length. The buffer for spans' partial results is
//! smaller: a step that needs more of it has several lists, whose kernels run one after another; a
//! graph has room for one list. Written by `backend`, read by `ops::attention`.

mod kinds;
mod layout;
#[cfg(test)]
mod tests;

use std::ops::Range;

use cuda_kernels::{DevicePtr, PrefillRows, decode_spans, write_decode_work, write_prefill_tiles};

pub(super) use kinds::{DecodeKind, TileKind, TiledRows, WorkKinds};
use layout::{ListLayout, widest};

use super::CudaError;
use super::driver::Driver;
use super::step::{Spare, StepShape};
use crate::batch::Batch;

/// Bytes for the partial results of a list's spans, unless a single row needs more. A span (256
/// positions) of Qwen3-8B has 16.6 kB, of Kimi K2 132 kB.
const PARTIALS_BYTES: usize = 64 << 20;

/// Greatest sizes that the lists must have room for.
#[derive(Debug, Clone, Copy)]
pub(super) struct WorkSizes {
    /// Greatest number of rows in a step.
    pub(super) rows: usize,
    /// Greatest number of sequences in a step.
    pub(super) lanes: usize,
    /// Greatest number of positions of a sequence.
    pub(super) context: usize,
}

/// Lists of the current step, and buffers of the kernels that read them.
#[derive(Debug)]
pub(super) struct AttentionWork {
    kinds: WorkKinds,
    layout: ListLayout,
    at: DevicePtr,
    partials: DevicePtr,
    counters: DevicePtr,
    step: WorkStep,
    positions: Vec<u32>,
    words: Vec<u32>,
}

/// Numbers of lists and tiles in the current step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct WorkStep {
    /// Number of lists of each window.
    lists: usize,
    tiles: u32,
}

impl AttentionWork {
    /// Bytes of memory for a model's lists.
    pub(super) fn bytes(kinds: &WorkKinds, sizes: WorkSizes) -> usize {
        ListLayout::new(kinds, sizes, spans(kinds)).bytes()
    }

    /// Lists at address `at`, which has room for `bytes` of them.
    pub(super) fn new(
        driver: &mut dyn Driver,
        kinds: WorkKinds,
        sizes: WorkSizes,
        at: DevicePtr,
    ) -> Result<Self, CudaError> {
        let layout = ListLayout::new(&kinds, sizes, spans(&kinds));
        let (part, counter) =
            kinds.decode.as_ref().map_or((0, 0), |kind| (kind.part_bytes, kind.counters * 4));
        let partials = driver.allocate("parts of attention", (layout.spans * part).max(16))?;
        let counters = driver.allocate("parts of attention", (sizes.rows * counter).max(16))?;
        driver.zero(counters, (sizes.rows * counter).max(16))?;
        let (positions, words) = (Vec::new(), Vec::new());
        Ok(Self { kinds, layout, at, partials, counters, step: WorkStep::default(), positions, words })
    }

    /// Begins a step without a batch: one that is recorded, or whose kernels are collected.
    pub(super) fn begin_without_batch(&mut self, shape: StepShape) {
        let tiles = match self.tiled() {
            None => 0,
            Some(TiledRows::Prompts) => usize::from(shape.tokens > shape.decoding),
            Some(TiledRows::All) => shape.tokens,
        };
        self.step = WorkStep { lists: usize::from(self.has_lists()), tiles: count(tiles) };
    }

    /// Whether one list has room for all spans of a decode step that is padded to `bucket` rows, so
    /// that it can be a graph's replay.
    pub(super) fn fits_graph(&self, batch: &Batch, bucket: usize) -> bool {
        let Some(DecodeKind { windows, .. }) = &self.kinds.decode else { return true };
        let spans = |position: &u32| decode_spans(*position, widest(windows)).1 as usize;
        let own: usize = batch.positions.iter().map(spans).sum();
        own + bucket - batch.positions.len() <= self.layout.spans
    }

    /// Writes the lists of a batch, padded to `bucket` rows; appends the byte ranges written in
    /// `out` to `copy`.
    pub(super) fn write(
        &mut self,
        batch: &Batch,
        bucket: Option<usize>,
        spare: Spare,
        out: &mut [u8],
        copy: &mut Vec<Range<usize>>,
    ) {
        let pad = bucket.map_or(0, |bucket| bucket - batch.tokens.len());
        self.step = WorkStep::default();
        self.write_spans(batch, pad, out, copy);
        self.write_tiles(batch, pad, spare, out, copy);
    }

    fn write_spans(&mut self, batch: &Batch, pad: usize, out: &mut [u8], copy: &mut Vec<Range<usize>>) {
        let Some(DecodeKind { windows, .. }) = &self.kinds.decode else { return };
        let decoding = StepShape::of(batch).decoding;
        self.positions.clear();
        self.positions.extend_from_slice(&batch.positions[..decoding]);
        self.positions.resize(decoding + pad, 0);
        let (mut first_row, mut rest) = (0, &self.positions[..]);
        while !rest.is_empty() {
            let rows = rows_of_list(rest, widest(windows), self.layout.spans);
            for (at, window) in windows.iter().enumerate() {
                write_decode_work(first_row, &rest[..rows], *window, &mut self.words);
                put(&self.words, self.layout.list(at, self.step.lists), out, copy);
            }
            (first_row, rest) = (first_row + count(rows), &rest[rows..]);
            self.step.lists += 1;
        }
    }

    fn write_tiles(
        &mut self,
        batch: &Batch,
        pad: usize,
        spare: Spare,
        out: &mut [u8],
        copy: &mut Vec<Range<usize>>,
    ) {
        let Some(TileKind { tiled, rows }) = self.kinds.tiles else { return };
        let (first, pad) = match tiled {
            TiledRows::Prompts => (StepShape::of(batch).decoding, 0),
            TiledRows::All => (0, pad),
        };
        let sequence = |i: usize| {
            let (first_row, end) = (batch.starts[i], batch.starts[i + 1]);
            let position = batch.positions[first_row as usize];
            PrefillRows { first_row, rows: end - first_row, position, lane: batch.lanes[i] }
        };
        let end = batch.tokens.len();
        let padding = (end..end + pad).map(|row| PrefillRows {
            first_row: count(row),
            rows: 1,
            position: 0,
            lane: spare.lane,
        });
        let all = (first..batch.sequences()).map(sequence).chain(padding);
        write_prefill_tiles(all, rows, &mut self.words);
        self.step.tiles = count(self.words.len() / 4);
        put(&self.words, self.layout.tiles(), out, copy);
    }

    /// Whether rows that decode are computed by lists of spans.
    pub(super) fn has_lists(&self) -> bool {
        self.kinds.decode.is_some()
    }

    /// Which rows are computed by tiles.
    pub(super) fn tiled(&self) -> Option<TiledRows> {
        self.kinds.tiles.map(|kind| kind.tiled)
    }

    /// Addresses of the step's lists of spans for layers with this window, in the order of their
    /// rows.
    ///
    /// # Panics
    /// Where no layer of the model has this window.
    pub(super) fn lists(&self, window: Option<u32>) -> impl Iterator<Item = DevicePtr> + use<> {
        let windows = self.kinds.decode.as_ref().map_or(&[][..], |kind| &kind.windows);
        let window = windows.iter().position(|other| *other == window).expect("a window of the model");
        let (at, layout) = (self.at, self.layout);
        (0..self.step.lists).map(move |list| at.offset(layout.list(window, list) as u64))
    }

    /// Address and number of the step's tiles.
    pub(super) fn tiles(&self) -> (DevicePtr, u32) {
        (self.at.offset(self.layout.tiles() as u64), self.step.tiles)
    }

    /// Buffer for the partial results of one list's spans.
    pub(super) fn partials(&self) -> DevicePtr {
        self.partials
    }

    /// Counters of the decode kernels; zero between launches.
    pub(super) fn counters(&self) -> DevicePtr {
        self.counters
    }
}

/// Spans whose partial results fit in the buffer.
fn spans(kinds: &WorkKinds) -> usize {
    kinds.decode.as_ref().map_or(0, |kind| PARTIALS_BYTES / kind.part_bytes)
}

/// Number of rows, from the first on, whose spans fit in a list; at least one.
fn rows_of_list(positions: &[u32], window: Option<u32>, spans: usize) -> usize {
    let mut left = spans;
    let fits = |position: &&u32| match left.checked_sub(decode_spans(**position, window).1 as usize) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    positions.iter().take_while(fits).count().max(1)
}

/// Writes words at byte offset `at`, and appends their byte range to `copy`.
fn put(words: &[u32], at: usize, out: &mut [u8], copy: &mut Vec<Range<usize>>) {
    let bytes = &mut out[at..][..words.len() * 4];
    for (to, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(words) {
        *to = word.to_le_bytes();
    }
    if !words.is_empty() {
        copy.push(at..at + words.len() * 4);
    }
}

fn count(count: usize) -> u32 {
    u32::try_from(count).expect("rows of a step are below 2³²")
}

//! What attention has to do in a step, as lists that are made here and read by kernels: spans of the rows that decode, tiles of the others.
//!
//! Invariants: lists lie at addresses that never change, with room for the longest step, so that a graph can be replayed with any lengths.
//! The parts of spans have less room: rows that need more are shared out over several lists, whose kernels run one after another; a graph
//! has one of them. Written by `backend`, read by `ops::attention`.

use std::ops::Range;

use cuda_kernels::{DevicePtr, PrefillRows, decode_spans, write_decode_work, write_prefill_tiles};

use super::CudaError;
use super::driver::Driver;
use super::step::{Spare, StepShape};
use crate::batch::Batch;

/// Spans of a list, where a row hasn't more: those of a million positions.
const SPANS: usize = 4096;

/// What kernels of a model take lists of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WorkKinds {
    pub(super) decode: Option<DecodeKind>,
    pub(super) tiles: Tiles,
}

/// Spans of rows that decode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DecodeKind {
    /// Windows of the model's layers, each once.
    pub(super) windows: Vec<Option<u32>>,
    /// Bytes of the parts of a span.
    pub(super) part_bytes: usize,
    /// Counters of a row.
    pub(super) counters: usize,
}

/// Which rows are cut into tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tiles {
    None,
    /// Those of sequences with several rows.
    Prompts,
    All,
}

/// The most that lists have to hold.
#[derive(Debug, Clone, Copy)]
pub(super) struct WorkSizes {
    /// Rows of a step.
    pub(super) rows: usize,
    /// Sequences of a step.
    pub(super) lanes: usize,
    /// Positions of a sequence.
    pub(super) context: usize,
}

/// See the module.
#[derive(Debug)]
pub(super) struct AttentionWork {
    kinds: WorkKinds,
    layout: Layout,
    at: DevicePtr,
    partials: DevicePtr,
    counters: DevicePtr,
    step: WorkStep,
    positions: Vec<u32>,
    words: Vec<u32>,
}

/// What the current step has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct WorkStep {
    /// Lists of each window.
    lists: usize,
    tiles: u32,
}

/// Places in bytes: the lists of each window, then tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    /// Spans of a list.
    spans: usize,
    /// Lists of a window.
    lists: usize,
    windows: usize,
    tiles: usize,
}

impl Layout {
    fn new(kinds: &WorkKinds, WorkSizes { rows, lanes, context }: WorkSizes, most: usize) -> Self {
        let tiles = if kinds.tiles == Tiles::None { 0 } else { rows };
        let Some(DecodeKind { windows, .. }) = &kinds.decode else {
            return Self { spans: 0, lists: 0, windows: 0, tiles };
        };
        let last = u32::try_from(context.max(1) - 1).unwrap_or(u32::MAX);
        let of_row = decode_spans(last, widest(windows)).1 as usize;
        // Rows that pad a step have one span.
        let all = lanes.min(rows) * of_row + rows;
        let spans = most.max(of_row).min(all);
        // Two lists that follow each other have more than one would hold.
        Self { spans, lists: 2 * all / spans + 1, windows: windows.len(), tiles }
    }

    fn list_bytes(self) -> usize {
        (self.spans + 1) * 16
    }

    fn list(self, window: usize, list: usize) -> usize {
        (window * self.lists + list) * self.list_bytes()
    }

    fn tiles(self) -> usize {
        self.list(self.windows, 0)
    }

    fn bytes(self) -> usize {
        self.tiles() + self.tiles * 16
    }
}

impl AttentionWork {
    /// Bytes that lists of such a model take.
    pub(super) fn bytes(kinds: &WorkKinds, sizes: WorkSizes) -> usize {
        Layout::new(kinds, sizes, SPANS).bytes()
    }

    /// Lists at this address.
    pub(super) fn new(
        driver: &mut dyn Driver,
        kinds: WorkKinds,
        sizes: WorkSizes,
        at: DevicePtr,
    ) -> Result<Self, CudaError> {
        let layout = Layout::new(&kinds, sizes, SPANS);
        let (part, counter) =
            kinds.decode.as_ref().map_or((0, 0), |kind| (kind.part_bytes, kind.counters * 4));
        let partials = driver.allocate("parts of attention", (layout.spans * part).max(16))?;
        let counters = driver.allocate("parts of attention", (sizes.rows * counter).max(16))?;
        driver.zero(counters, (sizes.rows * counter).max(16))?;
        let (positions, words) = (Vec::new(), Vec::new());
        Ok(Self { kinds, layout, at, partials, counters, step: WorkStep::default(), positions, words })
    }

    /// From here on the step is one that no batch was written for: one that is recorded, or whose kernels are looked at.
    pub(super) fn foresee(&mut self, shape: StepShape) {
        let tiles = match self.kinds.tiles {
            Tiles::None => 0,
            Tiles::Prompts => usize::from(shape.tokens > shape.decoding),
            Tiles::All => shape.tokens,
        };
        self.step = WorkStep { lists: usize::from(self.has_lists()), tiles: count(tiles) };
    }

    /// Whether a graph has all lists of a decode step that is padded to so many rows.
    pub(super) fn fits_graph(&self, batch: &Batch, bucket: usize) -> bool {
        let Some(DecodeKind { windows, .. }) = &self.kinds.decode else { return true };
        let spans = |position: &u32| decode_spans(*position, widest(windows)).1 as usize;
        let own: usize = batch.positions.iter().map(spans).sum();
        own + bucket - batch.positions.len() <= self.layout.spans
    }

    /// Writes what a batch needs, padded to `bucket` rows; `copy` is told which bytes of `out` there are.
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
        let (first, pad) = match self.kinds.tiles {
            Tiles::None => return,
            Tiles::Prompts => (StepShape::of(batch).decoding, 0),
            Tiles::All => (0, pad),
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
        write_prefill_tiles((first..batch.sequences()).map(sequence).chain(padding), &mut self.words);
        self.step.tiles = count(self.words.len() / 4);
        put(&self.words, self.layout.tiles(), out, copy);
    }

    /// Whether rows that decode are listed by spans.
    pub(super) fn has_lists(&self) -> bool {
        self.kinds.decode.is_some()
    }

    /// Which rows are in tiles.
    pub(super) fn tiled(&self) -> Tiles {
        self.kinds.tiles
    }

    /// The step's lists of spans for layers of this window, one behind the other.
    ///
    /// # Panics
    /// Where the model has no such layers.
    pub(super) fn lists(&self, window: Option<u32>) -> impl Iterator<Item = DevicePtr> + use<> {
        let windows = self.kinds.decode.as_ref().map_or(&[][..], |kind| &kind.windows);
        let window = windows.iter().position(|other| *other == window).expect("a window of the model");
        let (at, layout) = (self.at, self.layout);
        (0..self.step.lists).map(move |list| at.offset(layout.list(window, list) as u64))
    }

    /// The step's tiles, and their number.
    pub(super) fn tiles(&self) -> (DevicePtr, u32) {
        (self.at.offset(self.layout.tiles() as u64), self.step.tiles)
    }

    /// Room for the parts of a list's spans.
    pub(super) fn partials(&self) -> DevicePtr {
        self.partials
    }

    /// Zero between kernels.
    pub(super) fn counters(&self) -> DevicePtr {
        self.counters
    }
}

/// The window that has the most spans.
fn widest(windows: &[Option<u32>]) -> Option<u32> {
    windows.iter().copied().max_by_key(|window| window.unwrap_or(u32::MAX)).flatten()
}

/// How many of the rows a list of so many spans has room for; one at least.
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

/// Writes words at a place, and says so.
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

#[cfg(test)]
mod tests {
    use cuda_kernels::decode_work;

    use super::*;

    const SPARE: Spare = Spare { lane: 9, block: 50 };

    /// For rows of two windows, with so much room; at address 0, without memory.
    fn work(tiles: Tiles, spans: usize) -> AttentionWork {
        let windows = vec![None, Some(64)];
        let decode = (tiles == Tiles::Prompts).then_some(DecodeKind { windows, part_bytes: 1, counters: 2 });
        let kinds = WorkKinds { decode, tiles };
        let sizes = WorkSizes { rows: 8, lanes: 4, context: 1024 };
        let null = DevicePtr::NULL;
        AttentionWork {
            layout: Layout::new(&kinds, sizes, spans),
            kinds,
            at: null,
            partials: null,
            counters: null,
            step: WorkStep::default(),
            positions: Vec::new(),
            words: Vec::new(),
        }
    }

    /// Sequences of so many rows that end at these positions, on lanes of their numbers.
    fn batch(sequences: &[(u32, u32)]) -> Batch {
        let mut batch = Batch { starts: vec![0], ..Batch::default() };
        for (lane, (rows, last)) in (0..).zip(sequences) {
            batch.positions.extend(last + 1 - rows..=*last);
            batch.tokens.extend(std::iter::repeat_n(0, *rows as usize));
            batch.starts.push(count(batch.tokens.len()));
            batch.context_lens.push(last + 1);
            batch.lanes.push(lane);
        }
        batch
    }

    fn write(
        work: &mut AttentionWork,
        batch: &Batch,
        bucket: Option<usize>,
    ) -> (Vec<u32>, Vec<Range<usize>>) {
        let (mut out, mut copy) = (vec![0xff; work.layout.bytes()], Vec::new());
        work.write(batch, bucket, SPARE, &mut out, &mut copy);
        (out.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect(), copy)
    }

    fn at(words: &[u32], bytes: u64, count: usize) -> &[u32] {
        &words[usize::try_from(bytes / 4).unwrap()..][..count]
    }

    #[test]
    fn rows_that_decode_are_listed_with_those_that_pad_and_only_what_is_written_is_copied() {
        let mut work = work(Tiles::Prompts, 100);
        let (words, copy) = write(&mut work, &batch(&[(1, 600), (1, 3)]), Some(4));
        let wanted = [None, Some(64)].map(|window| decode_work(&[600, 3, 0, 0], window));
        let lists = [None, Some(64)].map(|window| work.lists(window).collect::<Vec<_>>());
        for (list, wanted) in lists.iter().zip(&wanted) {
            assert_eq!(at(&words, list[0].0, wanted.len()), wanted);
        }
        let copied: Vec<usize> = copy.iter().map(Range::len).collect();
        assert_eq!((copied, copy[0].start), (wanted.iter().map(|list| list.len() * 4).collect(), 0));
        assert_eq!((lists[0].len(), work.tiles().1), (1, 0));
    }

    #[test]
    fn rows_of_more_spans_than_there_is_room_for_are_shared_out_over_lists_and_need_a_step_without_a_graph() {
        let mut work = work(Tiles::Prompts, 4);
        // 3, 1, 1 and 4 spans.
        let batch = batch(&[(1, 600), (1, 3), (1, 255), (1, 1000)]);
        assert!(!work.fits_graph(&batch, 4) && work.fits_graph(&self::batch(&[(1, 600)]), 2));
        assert!(!work.fits_graph(&self::batch(&[(1, 600)]), 4), "padding takes room, too");
        let (words, _) = write(&mut work, &batch, None);
        let lists: Vec<_> = work.lists(None).collect();
        let rows = |list: &DevicePtr| -> Vec<u32> {
            let count = at(&words, list.0, 1)[0] as usize;
            at(&words, list.0 + 16, count * 4).chunks(4).map(|item| item[0]).collect()
        };
        assert_eq!(lists.iter().map(rows).collect::<Vec<_>>(), [vec![0, 0, 0, 1], vec![2], vec![3, 3, 3, 3]]);
        assert_eq!(work.lists(Some(64)).count(), 3, "those of every window have the same rows");
    }

    #[test]
    fn the_largest_step_has_room() {
        for spans in [1, 4, 7, 100, 4096] {
            let mut work = work(Tiles::Prompts, spans);
            write(&mut work, &batch(&[(1, 1023); 4]), Some(8));
            write(&mut work, &batch(&[(5, 1023), (1, 1023), (1, 1023), (1, 1023)]), None);
        }
        let mut all = work(Tiles::All, 4096);
        write(&mut all, &batch(&[(1, 1023); 4]), Some(8));
        assert_eq!(all.tiles().1, 8);
    }

    #[test]
    fn prompts_are_cut_into_tiles_behind_rows_that_decode() {
        let mut work = work(Tiles::Prompts, 100);
        let (words, _) = write(&mut work, &batch(&[(1, 5), (3, 9), (1, 0)]), None);
        let (tiles, count) = work.tiles();
        assert_eq!(at(&words, tiles.0, 8), [1, 3, 7, 1, 4, 1, 0, 2]);
        assert_eq!((count, work.lists(None).count()), (2, 1));
        let list = work.lists(None).next().unwrap();
        assert_eq!(at(&words, list.0, 8), [1, 0, 0, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn a_deterministic_engine_has_tiles_for_all_rows_those_that_pad_too() {
        let mut work = work(Tiles::All, 100);
        let (words, _) = write(&mut work, &batch(&[(1, 5), (1, 70)]), Some(4));
        let (tiles, count) = work.tiles();
        assert_eq!(at(&words, tiles.0, 16), [0, 1, 5, 0, 1, 1, 70, 1, 2, 1, 0, 9, 3, 1, 0, 9]);
        assert_eq!((count, work.has_lists()), (4, false));
    }
}

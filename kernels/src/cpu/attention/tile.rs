//! Tile kernel of attention: one key head with some query heads of its group, for some neighbouring
//! tokens.
//!
//! While scores are computed, the span's values are prefetched, and while values are added, the
//! next span's keys: the blocks of a sequence aren't neighbours in memory, so the processor doesn't
//! prefetch them by itself.

use std::ops::Range;

use super::partial::Partial;
use super::products::{KeyBlock, add_values, scores_of, tiles_of};
use super::running_softmax::RunningSoftmax;
use super::softmax::{exp, exponentials, maximum, scale};
use super::{AttentionParams, PART, SPAN, Tile};
use crate::cpu::Cpu;
use crate::cpu::isa::Kernel;
use crate::cpu::kv::{BLOCK_SIZE, KvData, KvLayer};
use crate::cpu::lanes::dots::Dots;
use crate::cpu::lanes::{Element, Lanes, Prefetch};
use crate::cpu::output::Output;

/// One key head's share of a tile.
pub(super) struct TileOfHead<'a> {
    pub(super) params: AttentionParams<'a>,
    pub(super) queries: &'a [f32],
    pub(super) tile: Tile<'a>,
    /// Index of the key head.
    pub(super) head: usize,
    /// Query heads of the key head that the tile computes.
    pub(super) of_queries: Range<usize>,
    pub(super) cache: &'a KvLayer,
}

/// Kernel that attends to some neighbouring parts of the keys, one after the other.
struct Parts<'a, 'b> {
    tile: &'b TileOfHead<'a>,
    range: Range<usize>,
    result: &'b mut Option<Partial>,
}

/// Tile with the cache's keys and values in their element type.
struct TypedTile<'a, W> {
    tile: &'a TileOfHead<'a>,
    keys: &'a [W],
    values: &'a [W],
}

impl Kernel for Parts<'_, '_> {
    #[inline(always)]
    fn run<L: Dots>(self, lanes: L) {
        let Self { tile, range, result } = self;
        match (&tile.cache.keys, tile.cache.value_rows()) {
            (KvData::F16(keys), KvData::F16(values)) => {
                TypedTile { tile, keys, values }.run(lanes, range, result);
            }
            (KvData::F32(keys), KvData::F32(values)) => {
                TypedTile { tile, keys, values }.run(lanes, range, result);
            }
            _ => unreachable!("a layer is of one type"),
        }
    }
}

impl<W: Element> TypedTile<'_, W> {
    #[inline(always)]
    fn run<L: Lanes>(&self, lanes: L, parts: Range<usize>, result: &mut Option<Partial>) {
        for part in parts {
            let mut running = self.tile.start();
            self.attend(lanes, &mut running, self.tile.keys_of(part));
            Partial::append(result, running.partial);
        }
    }

    #[inline(always)]
    fn attend<L: Lanes>(&self, lanes: L, running: &mut RunningSoftmax, keys: Range<usize>) {
        for start in keys.clone().step_by(SPAN) {
            let end = keys.end.min(start + SPAN);
            self.scores(lanes, running, start..end);
            self.tile.softmax(lanes, running, start..end);
            self.values(lanes, running, start..end, end..keys.end.min(end + SPAN));
        }
    }

    #[inline(always)]
    fn scores<L: Lanes>(&self, lanes: L, running: &mut RunningSoftmax, span: Range<usize>) {
        let stride = self.tile.cache.shape.stride();
        let rows = running.partial.rows();
        for (i, at) in self.tile.blocks(span).enumerate() {
            let keys = &self.keys[at..at + BLOCK_SIZE * stride];
            let mut block =
                KeyBlock { i, keys, stride, prefetch: &self.values[at..at + BLOCK_SIZE * stride] };
            let mut row = 0;
            while row + 4 <= rows {
                scores_of::<L, W, 4>(lanes, running, row, block);
                block.prefetch = &[];
                row += 4;
            }
            while row + 2 <= rows {
                scores_of::<L, W, 2>(lanes, running, row, block);
                block.prefetch = &[];
                row += 2;
            }
            if row < rows {
                scores_of::<L, W, 1>(lanes, running, row, block);
            }
        }
    }

    #[inline(always)]
    fn values<L: Lanes>(
        &self,
        lanes: L,
        running: &mut RunningSoftmax,
        span: Range<usize>,
        next: Range<usize>,
    ) {
        let stride = self.tile.cache.shape.stride();
        let rows = running.partial.rows();
        let steps = BLOCK_SIZE * tiles_of(self.tile.params.value_dim);
        let mut next = self.tile.blocks(next);
        for (i, at) in self.tile.blocks(span.clone()).enumerate() {
            let mut prefetch = match next.next() {
                Some(next) => Prefetch::of(&self.keys[next..next + BLOCK_SIZE * stride], steps),
                None => Prefetch::none(),
            };
            let block = &self.values[at..at + BLOCK_SIZE * stride];
            let mut row = 0;
            while row + 4 <= rows {
                self.values_of::<L, 4>(lanes, running, row, (span.start, i), block, &mut prefetch);
                prefetch = Prefetch::none();
                row += 4;
            }
            while row + 2 <= rows {
                self.values_of::<L, 2>(lanes, running, row, (span.start, i), block, &mut prefetch);
                prefetch = Prefetch::none();
                row += 2;
            }
            if row < rows {
                self.values_of::<L, 1>(lanes, running, row, (span.start, i), block, &mut prefetch);
            }
        }
    }

    /// Adds the weighted values of block `i` of the span that begins at `start` to `M` rows. A row
    /// gets only the values that it sees: those behind may be another sequence's, and may not be
    /// finite.
    #[inline(always)]
    fn values_of<L: Lanes, const M: usize>(
        &self,
        lanes: L,
        running: &mut RunningSoftmax,
        row: usize,
        (start, i): (usize, usize),
        block: &[W],
        prefetch: &mut Prefetch,
    ) {
        let tile = self.tile;
        let widths = (tile.params.value_dim, tile.cache.shape.stride());
        let seen = |row: usize| within(tile.visible(row), start + i * BLOCK_SIZE, BLOCK_SIZE);
        // The visible ranges of later rows begin and end later, so this is the range that all rows
        // see.
        let all = seen(row + M - 1).start..seen(row).end;
        if all == seen(row) && all == seen(row + M - 1) {
            return add_values::<L, W, M>(lanes, running, row, (i, all), block, widths, prefetch);
        }
        for row in row..row + M {
            add_values::<L, W, 1>(lanes, running, row, (i, seen(row)), block, widths, prefetch);
        }
    }
}

impl TileOfHead<'_> {
    /// Attends to the keys of some neighbouring parts; `None` if there are no parts.
    pub(super) fn attend(&self, cpu: &Cpu, parts: Range<usize>) -> Option<Partial> {
        let mut result = None;
        cpu.isa().run(Parts { tile: self, range: parts, result: &mut result });
        result
    }

    fn start(&self) -> RunningSoftmax {
        let (heads, d, stride) =
            (self.of_queries.len(), self.params.spec.shape.head_dim, self.cache.shape.stride());
        let rows = self.tile.rows * heads;
        let scale = self.params.spec.scale;
        let mut queries = vec![0.0; rows * stride];
        for (i, to) in queries.chunks_exact_mut(stride).enumerate() {
            let row = self.tile.first_row + i / heads;
            let from = &self.queries
                [row * self.params.query_stride + (self.of_queries.start + i % heads) * d..][..d];
            to.iter_mut().zip(from).for_each(|(to, x)| *to = x * scale);
        }
        RunningSoftmax { queries, weights: vec![0.0; rows * SPAN], partial: Partial::new(rows, stride) }
    }

    /// Returns the indices in the layer at which the head's rows begin in the blocks that hold
    /// these positions.
    fn blocks(&self, keys: Range<usize>) -> impl Iterator<Item = usize> {
        let blocks = &self.tile.sequence.blocks[keys.start / BLOCK_SIZE..keys.end.div_ceil(BLOCK_SIZE)];
        blocks.iter().map(|block| self.cache.shape.block_at(*block as usize, self.head))
    }

    #[inline(always)]
    fn softmax<L: Lanes>(&self, lanes: L, running: &mut RunningSoftmax, span: Range<usize>) {
        let RunningSoftmax { weights, partial, .. } = running;
        let stride = self.cache.shape.stride();
        let padded = span.len().next_multiple_of(BLOCK_SIZE);
        for (i, (greatest, total)) in partial.state.iter_mut().enumerate() {
            let weights = &mut weights[i * SPAN..][..padded];
            let visible = within(self.visible(i), span.start, span.len());
            if visible.is_empty() {
                weights.fill(0.0);
                continue;
            }
            weights[visible.end..].fill(f32::NEG_INFINITY);
            weights[..visible.start].fill(f32::NEG_INFINITY);
            let new = maximum(lanes, weights).max(*greatest);
            let rescale = exp(lanes, *greatest - new);
            *total = *total * rescale + exponentials(lanes, weights, visible, new);
            *greatest = new;
            scale(lanes, &mut partial.sums[i * stride..][..stride], rescale);
        }
    }

    /// Returns the positions that a query row sees: those up to its own, as far as the window goes
    /// back.
    fn visible(&self, row: usize) -> Range<usize> {
        let end = self.tile.position + row / self.of_queries.len() + 1;
        self.params.spec.window.map_or(0, |window| end.saturating_sub(window.max(1)))..end
    }

    /// Returns the parts with keys that some row sees; there is at least one, since each row sees
    /// its own key.
    pub(super) fn parts(&self) -> Range<usize> {
        let end = self.tile.position + self.tile.rows;
        self.visible(0).start / PART..end.div_ceil(PART)
    }

    /// Returns the positions of a part, without the spans before the first row's window, which no
    /// row sees.
    fn keys_of(&self, part: usize) -> Range<usize> {
        let end = self.tile.position + self.tile.rows;
        let first = self.visible(0).start / SPAN * SPAN;
        first.max(part * PART)..end.min((part + 1) * PART)
    }

    /// Writes the rows to `out` `[rows, heads * value_dim]`.
    pub(super) fn finish(&self, partial: Option<Partial>, out: &Output<'_, f32>) {
        let partial = partial.expect("each row sees its own key");
        let (heads, d) = (self.of_queries.len(), self.params.value_dim);
        for i in 0..partial.rows() {
            let row = self.tile.first_row + i / heads;
            let head = self.of_queries.start + i % heads;
            let at = (row * self.params.spec.shape.heads + head) * d;
            #[expect(unsafe_code, reason = "each task its rows and heads")]
            // SAFETY: tasks differ in their rows or in their heads, and a task has one part alive
            // at a time.
            let out = unsafe { out.part(at, d) };
            partial.finish(i, self.params.spec.sinks.map(|sinks| sinks[head]), out);
        }
    }
}

/// Returns the part of `visible` within the `count` positions from `start` on, relative to `start`.
fn within(visible: Range<usize>, start: usize, count: usize) -> Range<usize> {
    let at = |position: usize| position.saturating_sub(start).min(count);
    at(visible.start)..at(visible.end)
}

//! bf16 weights, repacked at load for instructions that add pairs of products: sixteen rows (a
//! panel) are interleaved by pairs, so that each lane accumulates one row, no sum has to be added
//! up over lanes at the end, and memory is read from front to back.
//!
//! A sum is accumulated in the order of its row's pairs, whatever is computed beside it.

use half::bf16;

use super::Cpu;
use super::lanes::LANES;
use super::lanes::dots::PAIRS;
use super::memory::ZeroedMemory;
use super::output::Output;

/// Two neighbours of each of sixteen rows: a line of the processor's cache.
#[derive(Debug, Clone, Copy, bytemuck::Zeroable, bytemuck::Pod)]
#[repr(C, align(64))]
pub(super) struct PairLine(pub(super) [bf16; PAIRS]);

/// Matrix `[rows, cols]` of bf16 in panels; rows and columns beyond the last are zero.
#[derive(Debug)]
pub struct RepackedMatrix {
    rows: usize,
    cols: usize,
    /// `[panels, pairs of a row]`.
    lines: ZeroedMemory<PairLine>,
}

impl RepackedMatrix {
    /// Repacks `elements` `[rows, cols]`; `None` if the system doesn't grant the memory.
    ///
    /// # Panics
    /// If there are not `rows * cols` elements.
    pub fn new(cpu: &Cpu, elements: &[bf16], (rows, cols): (usize, usize)) -> Option<Self> {
        assert_eq!(Some(elements.len()), rows.checked_mul(cols), "elements of a matrix [{rows}, {cols}]");
        let (panels, pairs) = (rows.div_ceil(LANES), cols.div_ceil(2));
        let mut lines = ZeroedMemory::<PairLine>::new(panels * pairs)?;
        let out = Output::new(&mut lines);
        cpu.parallel_for(panels, usize::MAX, |panel| {
            #[expect(unsafe_code, reason = "each task its panel")]
            // SAFETY: a task is one panel, and no other task has that panel's lines.
            let to = unsafe { out.part(panel * pairs, pairs) };
            let rows = elements[panel * LANES * cols..].chunks_exact(cols.max(1)).take(LANES);
            for (lane, row) in rows.enumerate() {
                for (pair, line) in row.chunks(2).zip(&mut *to) {
                    line.0[2 * lane..][..pair.len()].copy_from_slice(pair);
                }
            }
        });
        Some(Self { rows, cols, lines })
    }

    /// Size of the matrix in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.lines)
    }

    pub(super) fn len(&self) -> usize {
        self.rows * self.cols
    }

    pub(super) fn get(&self, i: usize) -> f32 {
        self.at(i / self.cols, i % self.cols)
    }

    /// Widens row `row` to f32.
    pub(super) fn widen(&self, row: usize, to: &mut [f32]) {
        to.iter_mut().enumerate().for_each(|(col, to)| *to = self.at(row, col));
    }

    fn at(&self, row: usize, col: usize) -> f32 {
        let line = &self.lines[row / LANES * self.pairs() + col / 2];
        line.0[row % LANES * 2 + col % 2].to_f32()
    }

    /// Number of pairs in a row, which is the number of lines in a panel.
    pub(super) fn pairs(&self) -> usize {
        self.cols.div_ceil(2)
    }

    pub(super) fn panel_lines(&self, panels: std::ops::Range<usize>) -> &[PairLine] {
        &self.lines[panels.start * self.pairs()..panels.end * self.pairs()]
    }
}

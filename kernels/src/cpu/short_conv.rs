//! Short gated convolution between its projections: each channel's inputs are gated, convolved over
//! the last tokens, and gated again. A slot keeps the last `taps - 1` gated inputs.
//!
//! A task is some channels of one sequence. Each element is a sum in the order of taps, so it doesn't
//! depend on how its sequence was cut into steps.

use ops::{ShortConvShape, ShortConvWeights};

use super::Cpu;
use super::isa::Kernel;
use super::lanes::dots::Dots;
use super::lanes::{LANES, Lanes};
use super::output::Output;
use super::states::{FirstState, LayerStates, StateSequence, StateSizes};

/// Maximum number of channels of a task, and of rows that it gates before it convolves them: both
/// stay in the first-level cache.
const CHANNELS: usize = 256;
const ROWS: usize = 16;

/// Weights of a layer in the order in which they are read.
#[derive(Debug)]
pub struct ShortConv {
    shape: ShortConvShape,
    /// `[taps, channels]`.
    factors: Vec<f32>,
    /// `[channels]`, zero in layers without.
    bias: Vec<f32>,
}

impl ShortConv {
    /// Sizes of a layer's states.
    pub fn state_sizes(ShortConvShape { channels, taps }: ShortConvShape) -> StateSizes {
        StateSizes { slot: (taps - 1) * channels, row: channels }
    }

    /// Reorders weights.
    ///
    /// # Panics
    /// If the sizes don't fit each other.
    pub fn new(shape: ShortConvShape, weights: ShortConvWeights<&[f32]>) -> Self {
        let ShortConvShape { channels, taps } = shape;
        assert_eq!(weights.factors.len(), channels * taps, "factors of the convolution");
        let of_tap = |tap: usize| weights.factors.iter().skip(tap).step_by(taps).copied();
        let bias = weights.bias.map_or_else(|| vec![0.0; channels], <[f32]>::to_vec);
        assert_eq!(bias.len(), channels, "biases of the convolution");
        Self { shape, factors: (0..taps).flat_map(of_tap).collect(), bias }
    }
}

/// Computes a layer for the rows of all sequences: `projected` is `[rows, projected_width]`, `out` is
/// `[rows, channels]`.
///
/// # Panics
/// If the sizes don't fit each other, two sequences have the same slot, or there is no such slot.
pub fn short_conv(
    cpu: &Cpu,
    weights: &ShortConv,
    projected: &[f32],
    sequences: &[StateSequence],
    state: &mut LayerStates,
    out: &mut [f32],
) {
    let ShortConvShape { channels, taps } = weights.shape;
    let rows = out.len() / channels;
    assert_eq!(projected.len(), rows * weights.shape.projected_width(), "rows of short_conv");
    state.check(ShortConv::state_sizes(weights.shape), sequences, rows);
    let parts = channels.div_ceil(CHANNELS);
    let most_tentative = state.shape.tentative;
    let (slots, tentative) = (Output::new(&mut state.slots), Output::new(&mut state.tentative));
    let out = Output::new(out);
    cpu.parallel_for(sequences.len() * parts, rows * channels * (taps + 2), |task| {
        let first = task % parts * CHANNELS;
        cpu.isa().run(Task {
            weights,
            projected,
            sequence: &sequences[task / parts],
            channels: (first, CHANNELS.min(channels - first)),
            slots: &slots,
            tentative: &tentative,
            most_tentative,
            out: &out,
        });
    });
}

/// Some channels of one sequence.
struct Task<'a> {
    weights: &'a ShortConv,
    projected: &'a [f32],
    sequence: &'a StateSequence,
    /// The first channel, and their number.
    channels: (usize, usize),
    slots: &'a Output<'a, f32>,
    tentative: &'a Output<'a, f32>,
    most_tentative: usize,
    out: &'a Output<'a, f32>,
}

impl Kernel for Task<'_> {
    #[inline(always)]
    fn run<L: Dots>(self, lanes: L) {
        let StateSequence { rows, slot, tentative, .. } = *self.sequence;
        let (before, width) = (self.weights.shape.taps - 1, self.channels.1);
        // Gated inputs, those before the piece first.
        let mut inputs = vec![0.0; (before + ROWS) * width];
        self.start(&mut inputs);
        let certain = rows - tentative;
        if certain == 0 {
            self.save(slot, &inputs);
        }
        let mut from = 0;
        while from < rows {
            let end = (from + ROWS).min(rows);
            for (row, to) in (from..end).zip(inputs[before * width..].chunks_exact_mut(width)) {
                self.gate(lanes, row, to);
                if row >= certain {
                    self.kept_row(row - certain).copy_from_slice(to);
                }
            }
            for row in from..end {
                self.convolve(lanes, row, &inputs[(row - from) * width..]);
            }
            let saves = self.sequence.saves.iter().map(|save| (save.rows, save.slot));
            for (rows, slot) in
                saves.chain([(certain, slot)]).filter(|(rows, _)| (from + 1..=end).contains(rows))
            {
                self.save(slot, &inputs[(rows - from) * width..]);
            }
            inputs.copy_within((end - from) * width..(end - from + before) * width, 0);
            from = end;
        }
    }
}

impl Task<'_> {
    /// Reads the inputs before the sequence's first row.
    fn start(&self, inputs: &mut [f32]) {
        let FirstState::Slot { accepted } = self.sequence.start else { return };
        let (before, width) = (self.weights.shape.taps - 1, self.channels.1);
        for (tap, to) in inputs.chunks_exact_mut(width).take(before).enumerate() {
            to.copy_from_slice(self.slot_row(self.sequence.slot, tap));
        }
        for row in 0..accepted {
            inputs.copy_within(width..before * width, 0);
            inputs[(before - 1) * width..before * width].copy_from_slice(self.kept_row(row));
        }
    }

    /// Writes the first rows of `inputs` to a slot.
    fn save(&self, slot: usize, inputs: &[f32]) {
        let rows = inputs.chunks_exact(self.channels.1).take(self.weights.shape.taps - 1);
        rows.enumerate().for_each(|(tap, from)| self.slot_row(slot, tap).copy_from_slice(from));
    }

    /// This task's channels in part `part` of a row of the projection.
    fn projected(&self, row: usize, part: usize) -> &[f32] {
        let (shape, (first, width)) = (self.weights.shape, self.channels);
        let row = (self.sequence.first_row + row) * shape.projected_width();
        &self.projected[row + part * shape.channels + first..][..width]
    }

    #[inline(always)]
    fn gate<L: Lanes>(&self, lanes: L, row: usize, to: &mut [f32]) {
        let (gates, x) = (self.projected(row, 0), self.projected(row, 2));
        for (i, to) in to.chunks_mut(LANES).enumerate() {
            let at = i * LANES;
            store(lanes, lanes.mul(load(lanes, gates, at), load(lanes, x, at)), to);
        }
    }

    /// Writes the result of a row, whose inputs are the first of `inputs`, the oldest first.
    #[inline(always)]
    fn convolve<L: Lanes>(&self, lanes: L, row: usize, inputs: &[f32]) {
        let (ShortConvShape { channels, .. }, (first, width)) = (self.weights.shape, self.channels);
        let gates = self.projected(row, 1);
        #[expect(unsafe_code, reason = "each task its channels")]
        // SAFETY: a task has its own channels of its own rows.
        let out = unsafe { self.out.part((self.sequence.first_row + row) * channels + first, width) };
        for (i, to) in out.chunks_mut(LANES).enumerate() {
            let at = i * LANES;
            let mut sum = load(lanes, &self.weights.bias, first + at);
            let factors = self.weights.factors.chunks_exact(channels);
            for (x, factors) in inputs.chunks_exact(width).zip(factors) {
                sum = lanes.fma(load(lanes, x, at), load(lanes, factors, first + at), sum);
            }
            store(lanes, lanes.mul(load(lanes, gates, at), sum), to);
        }
    }

    /// This task's channels of an input in a slot.
    #[expect(clippy::mut_from_ref, unsafe_code, reason = "each task its channels")]
    fn slot_row(&self, slot: usize, tap: usize) -> &mut [f32] {
        let (ShortConvShape { channels, taps }, (first, width)) = (self.weights.shape, self.channels);
        // SAFETY: no other task has these channels of this slot (`LayerStates::check`), and this one
        // has one row of it at a time.
        unsafe { self.slots.part((slot * (taps - 1) + tap) * channels + first, width) }
    }

    /// This task's channels of a row that may be taken back.
    #[expect(clippy::mut_from_ref, unsafe_code, reason = "each task its channels")]
    fn kept_row(&self, row: usize) -> &mut [f32] {
        let (ShortConvShape { channels, .. }, (first, width)) = (self.weights.shape, self.channels);
        let row = self.sequence.slot * self.most_tentative + row;
        // SAFETY: as above.
        unsafe { self.tentative.part(row * channels + first, width) }
    }
}

/// Loads a vector from `at` on, or as much of it as there is.
#[inline(always)]
fn load<L: Lanes>(lanes: L, from: &[f32], at: usize) -> L::V {
    let from = &from[at..];
    match from.first_chunk() {
        Some(whole) => lanes.load(whole),
        None => lanes.load_part(from),
    }
}

/// Stores a vector, or as much of it as there is room for.
#[inline(always)]
fn store<L: Lanes>(lanes: L, v: L::V, to: &mut [f32]) {
    match to.first_chunk_mut() {
        Some(whole) => lanes.store(v, whole),
        None => lanes.store_part(v, to),
    }
}

//! A layer with the gated delta rule, between its projections: convolution over the last tokens,
//! the rule on each head's state, norm and output gate.
//!
//! Tokens are computed one after another, so a row doesn't depend on how its sequence was cut into
//! steps. A task is one key head of one sequence with all its value heads.

mod group;
mod piece;
mod rule;

use ops::{DeltaShape, DeltaWeights, Norm};

use super::Cpu;
use super::isa::Kernel;
use super::lanes::dots::Dots;
use super::output::Output;
use super::states::{FirstState, LayerStates, StateSequence, StateSizes};
use group::GroupShape;
use piece::{Outlet, Piece, ROWS};

/// Weights of a layer in the order in which they are read.
#[derive(Debug)]
pub struct DeltaLayer {
    shape: DeltaShape,
    /// `[key_heads, taps, channels]` with the channels of a group, padded.
    conv: Vec<f32>,
    decay: Vec<f32>,
    decay_bias: Vec<f32>,
    /// Weight padded with zeros.
    norm: Norm<Vec<f32>>,
}

impl DeltaLayer {
    /// Sizes of a layer's states.
    pub fn state_sizes(shape: DeltaShape) -> StateSizes {
        let group = GroupShape::of(shape);
        StateSizes { slot: shape.key_heads * group.len(), row: shape.key_heads * group.row() }
    }

    /// Reorders weights.
    ///
    /// # Panics
    /// If the sizes don't fit each other.
    pub fn new(shape: DeltaShape, weights: DeltaWeights<&[f32]>) -> Self {
        let DeltaWeights { conv, decay, decay_bias, norm } = weights;
        assert_eq!(conv.len(), shape.channels() * shape.taps, "factors of the convolution");
        assert!(decay.len() == shape.value_heads && decay_bias.len() == shape.value_heads, "decays");
        assert_eq!(norm.weight.len(), shape.value_dim, "norm of a head");
        let group = GroupShape::of(shape);
        let mut padded = norm.weight.to_vec();
        padded.resize(group.value, 0.0);
        Self {
            shape,
            conv: conv_by_groups(shape, group, conv),
            decay: decay.to_vec(),
            decay_bias: decay_bias.to_vec(),
            norm: Norm { weight: padded, eps: norm.eps },
        }
    }
}

/// Factors of the convolution `[channels, taps]` as `[key_heads, taps, channels of a group]`.
fn conv_by_groups(shape: DeltaShape, group: GroupShape, conv: &[f32]) -> Vec<f32> {
    let mut all = vec![0.0; shape.key_heads * shape.taps * group.channels];
    for (key_head, of_group) in all.chunks_exact_mut(shape.taps * group.channels).enumerate() {
        for (tap, to) in of_group.chunks_exact_mut(group.channels).enumerate() {
            let mut copy = |channel: usize, at: usize, width: usize| {
                (0..width).for_each(|i| to[at + i] = conv[(channel + i) * shape.taps + tap]);
            };
            let [query, key, _] = shape.conv_channels(key_head, 0);
            copy(query, 0, shape.key_dim);
            copy(key, group.key, shape.key_dim);
            for member in 0..group.heads {
                let [_, _, value] = shape.conv_channels(key_head, member);
                copy(value, 2 * group.key + member * group.value, shape.value_dim);
            }
        }
    }
    all
}

/// Computes a layer for the rows of all sequences: `projected` is `[rows, projected_width]`, `rates`
/// is `[rows, rates_width]`, `out` is `[rows, out_width]`.
///
/// # Panics
/// If the sizes don't fit each other, two sequences have the same slot, or there is no such slot.
pub fn gated_delta(
    cpu: &Cpu,
    weights: &DeltaLayer,
    (projected, rates): (&[f32], &[f32]),
    sequences: &[StateSequence],
    state: &mut LayerStates,
    out: &mut [f32],
) {
    let shape = weights.shape;
    let rows = out.len() / shape.out_width();
    assert!(
        projected.len() == rows * shape.projected_width() && rates.len() == rows * shape.rates_width(),
        "rows of gated_delta"
    );
    state.check(DeltaLayer::state_sizes(shape), sequences, rows);
    // Each token of a head touches its matrix three times.
    let cost = rows * shape.key_dim * shape.out_width() * 3;
    let (states, tentative) = (Output::new(&mut state.slots), Output::new(&mut state.tentative));
    let (out, most_tentative) = (Output::new(out), state.shape.tentative);
    cpu.parallel_for(sequences.len() * shape.key_heads, cost, |task| {
        let (sequence, key_head) = (&sequences[task / shape.key_heads], task % shape.key_heads);
        let (states, tentative) = (&states, &tentative);
        cpu.isa().run(Task {
            weights,
            projected,
            rates,
            sequence,
            key_head,
            most_tentative,
            states,
            tentative,
            out: &out,
        });
    });
}

/// One key head of one sequence.
struct Task<'a> {
    weights: &'a DeltaLayer,
    projected: &'a [f32],
    rates: &'a [f32],
    sequence: &'a StateSequence,
    key_head: usize,
    most_tentative: usize,
    states: &'a Output<'a, f32>,
    tentative: &'a Output<'a, f32>,
    out: &'a Output<'a, f32>,
}

impl Kernel for Task<'_> {
    #[inline(always)]
    fn run<L: Dots>(self, lanes: L) {
        let StateSequence { rows, slot, start, tentative, .. } = *self.sequence;
        let row = GroupShape::of(self.weights.shape).row();
        let (state, kept) = (self.state(slot), self.kept_rows(slot));
        let mut piece = Piece::new(self.weights, self.key_head);
        match start {
            FirstState::Empty => state.fill(0.0),
            FirstState::Slot { accepted } => {
                for rows in kept[..accepted * row].chunks(ROWS * row) {
                    piece.clear();
                    rows.chunks_exact(row).for_each(|kept| piece.push_kept(kept));
                    piece.advance(lanes, state, None);
                }
            }
        }
        self.advance(lanes, 0..rows - tentative, &mut piece, state, None);
        if tentative > 0 {
            let mut copy = state.to_vec();
            self.advance(lanes, rows - tentative..rows, &mut piece, &mut copy, Some(kept));
        }
    }
}

impl Task<'_> {
    /// This task's group in a slot.
    #[expect(clippy::mut_from_ref, unsafe_code, reason = "each task its groups")]
    fn state(&self, slot: usize) -> &mut [f32] {
        let size = GroupShape::of(self.weights.shape).len();
        let at = (slot * self.weights.shape.key_heads + self.key_head) * size;
        // SAFETY: no other task has this key head of this slot (`check`), and this one asks for
        // each slot once.
        unsafe { self.states.part(at, size) }
    }

    /// Rows of this task's sequence that may be taken back.
    #[expect(clippy::mut_from_ref, unsafe_code, reason = "each task its groups")]
    fn kept_rows(&self, slot: usize) -> &mut [f32] {
        let size = GroupShape::of(self.weights.shape).row() * self.most_tentative;
        let at = (slot * self.weights.shape.key_heads + self.key_head) * size;
        // SAFETY: as above.
        unsafe { self.tentative.part(at, size) }
    }

    /// Advances a state by some of the sequence's rows, in pieces that end where a state is to be
    /// kept, and keeps the rows if they may be taken back.
    #[inline(always)]
    fn advance<L: Dots>(
        &self,
        lanes: L,
        range: std::ops::Range<usize>,
        piece: &mut Piece<'_>,
        state: &mut [f32],
        mut kept: Option<&mut [f32]>,
    ) {
        let shape = self.weights.shape;
        let (wide, narrow) = (shape.projected_width(), shape.rates_width());
        let row = GroupShape::of(shape).row();
        let mut from = range.start;
        while from < range.end {
            let save = self.sequence.saves.iter().find(|save| save.rows > from);
            let end = (from + ROWS).min(range.end).min(save.map_or(usize::MAX, |save| save.rows));
            let first_row = self.sequence.first_row + from;
            let projected = &self.projected[first_row * wide..][..(end - from) * wide];
            let rates = &self.rates[first_row * narrow..][..(end - from) * narrow];
            piece.clear();
            projected.chunks_exact(wide).zip(rates.chunks_exact(narrow)).for_each(|(x, y)| piece.push(x, y));
            if let Some(kept) = &mut kept {
                let rows = kept[(from - range.start) * row..].chunks_exact_mut(row);
                rows.take(end - from).enumerate().for_each(|(i, to)| piece.keep(i, to));
            }
            piece.advance(lanes, state, Some(&Outlet { projected, out: self.out, first_row }));
            if let Some(save) = save.filter(|save| save.rows == end) {
                self.state(save.slot).copy_from_slice(state);
            }
            from = end;
        }
    }
}

//! A layer with the gated delta rule, between its projections: convolution over the last tokens,
//! the rule on each head's state, norm and output gate.
//!
//! Tokens are computed one after another, so a row doesn't depend on how its sequence was cut into
//! steps. A task is one key head of one sequence with all its value heads. The last rows of a
//! sequence may be tentative: they are computed on a copy of the state, and their inputs are kept.
//! The next step applies as many of them as were right before its own rows.

mod piece;
mod rule;
mod states;

use ops::{DeltaShape, DeltaWeights, Norm};

use super::Cpu;
use super::isa::Kernel;
use super::lanes::dots::Dots;
use super::output::Output;
use piece::{Outlet, Piece, ROWS};
use states::GroupShape;
pub use states::{DeltaState, DeltaStates, DeltaStatesShape};

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

/// Rows of one sequence in a step.
#[derive(Debug, Clone)]
pub struct DeltaSequence {
    /// Index of the sequence's first row.
    pub first_row: usize,
    /// Number of its rows.
    pub rows: usize,
    /// Slot of its state, which is one of a lane.
    pub slot: usize,
    /// State before the first row.
    pub start: DeltaStart,
    /// Number of the last rows that may be taken back.
    pub tentative: usize,
    /// States to keep, in the order of rows.
    pub saves: Vec<DeltaSave>,
}

/// State before the first row of a sequence in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeltaStart {
    /// No token has been seen.
    Empty,
    /// The state of the slot, after this many of the rows that were tentative in the last step.
    Slot {
        /// Number of rows that turned out to be right.
        accepted: usize,
    },
}

/// A state to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeltaSave {
    /// Number of the sequence's rows in this step that the state has seen, at least one.
    pub rows: usize,
    /// Slot for it.
    pub slot: usize,
}

impl DeltaLayer {
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
    sequences: &[DeltaSequence],
    state: &mut DeltaState,
    out: &mut [f32],
) {
    let shape = weights.shape;
    let rows = out.len() / shape.out_width();
    assert!(
        projected.len() == rows * shape.projected_width() && rates.len() == rows * shape.rates_width(),
        "rows of gated_delta"
    );
    assert_eq!(state.shape.layer, shape, "sizes of states");
    check(state.shape, sequences, rows);
    // Each token of a head touches its matrix three times.
    let cost = rows * shape.key_dim * shape.out_width() * 3;
    let (states, tentative) = (Output::new(&mut state.states), Output::new(&mut state.tentative));
    let (out, of_states) = (Output::new(out), state.shape);
    cpu.parallel_for(sequences.len() * shape.key_heads, cost, |task| {
        let (sequence, key_head) = (&sequences[task / shape.key_heads], task % shape.key_heads);
        let (states, tentative) = (&states, &tentative);
        cpu.isa().run(Task {
            weights,
            projected,
            rates,
            sequence,
            key_head,
            of_states,
            states,
            tentative,
            out: &out,
        });
    });
}

/// Checks that no two tasks can touch the same state or row.
fn check(shape: DeltaStatesShape, sequences: &[DeltaSequence], rows: usize) {
    let lanes = sequences.iter().map(|one| one.slot);
    assert!(lanes.clone().all(|slot| slot < shape.lanes), "a slot of a sequence is one of a lane");
    let mut slots: Vec<usize> =
        lanes.chain(sequences.iter().flat_map(|one| one.saves.iter().map(|save| save.slot))).collect();
    slots.sort_unstable();
    assert!(slots.is_sorted_by(|a, b| a < b), "each state has a slot of its own");
    let mut next = 0;
    for one in sequences {
        assert!(one.first_row >= next && one.tentative <= one.rows, "rows of a sequence");
        let accepted = if let DeltaStart::Slot { accepted } = one.start { accepted } else { 0 };
        assert!(one.tentative.max(accepted) <= shape.tentative, "tentative rows");
        next = one.first_row + one.rows;
    }
    assert!(next <= rows, "rows of sequences");
}

/// One key head of one sequence.
struct Task<'a> {
    weights: &'a DeltaLayer,
    projected: &'a [f32],
    rates: &'a [f32],
    sequence: &'a DeltaSequence,
    key_head: usize,
    of_states: DeltaStatesShape,
    states: &'a Output<'a, f32>,
    tentative: &'a Output<'a, f32>,
    out: &'a Output<'a, f32>,
}

impl Kernel for Task<'_> {
    #[inline(always)]
    fn run<L: Dots>(self, lanes: L) {
        let DeltaSequence { rows, slot, start, tentative, .. } = *self.sequence;
        let row = GroupShape::of(self.weights.shape).row();
        let (state, kept) = (self.state(slot), self.kept_rows(slot));
        let mut piece = Piece::new(self.weights, self.key_head);
        match start {
            DeltaStart::Empty => state.fill(0.0),
            DeltaStart::Slot { accepted } => {
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
        let size = GroupShape::of(self.weights.shape).row() * self.of_states.tentative;
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

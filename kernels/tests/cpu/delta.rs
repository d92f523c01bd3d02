//! The gated delta rule against its reference, and against itself with a sequence cut differently,
//! beside others, with rows taken back, and from states that were kept.

use kernels::cpu::{Cpu, DeltaLayer, Isa, StatePool, StatePoolShape, StateSequence, gated_delta};
use ops::{DeltaLayout, DeltaShape, DeltaWeights, HeadPairing, Norm, reference};

use super::states::{ROWS, StateLayer, chunks_and_neighbours, kept_states, rows_taken_back, whole};

const SHAPES: [DeltaShape; 3] = [
    DeltaShape {
        key_heads: 2,
        value_heads: 6,
        key_dim: 20,
        value_dim: 24,
        taps: 4,
        layout: DeltaLayout::Whole,
        pairing: HeadPairing::Neighbours,
    },
    DeltaShape {
        key_heads: 3,
        value_heads: 6,
        key_dim: 16,
        value_dim: 96,
        taps: 3,
        layout: DeltaLayout::ByKeyHead,
        pairing: HeadPairing::Neighbours,
    },
    DeltaShape {
        key_heads: 2,
        value_heads: 4,
        key_dim: 32,
        value_dim: 16,
        taps: 4,
        layout: DeltaLayout::Whole,
        pairing: HeadPairing::Strided,
    },
];

fn values(count: usize, seed: usize, spread: f32) -> Vec<f32> {
    (0..count).map(|i| (((i * 7919 + seed * 104_729) % 1999) as f32 / 999.0 - 1.0) * spread).collect()
}

/// Weights and inputs of a layer.
struct Layer {
    shape: DeltaShape,
    conv: Vec<f32>,
    decay: Vec<f32>,
    bias: Vec<f32>,
    norm: Vec<f32>,
    projected: Vec<f32>,
    rates: Vec<f32>,
}

impl Layer {
    fn new(shape: DeltaShape) -> Self {
        Self {
            shape,
            conv: values(shape.channels() * shape.taps, 1, 1.0),
            decay: values(shape.value_heads, 2, 0.4).iter().map(|x| x + 0.5).collect(),
            bias: values(shape.value_heads, 3, 1.0),
            norm: values(shape.value_dim, 4, 1.0),
            projected: values(ROWS * shape.projected_width(), 5, 2.0),
            rates: values(ROWS * shape.rates_width(), 6, 3.0),
        }
    }

    fn weights(&self) -> DeltaWeights<&[f32]> {
        let Self { conv, decay, bias, norm, .. } = self;
        DeltaWeights { conv, decay, decay_bias: bias, norm: Norm { weight: norm, eps: 1e-6 } }
    }
}

impl StateLayer for Layer {
    fn width(&self) -> usize {
        self.shape.out_width()
    }

    fn states(&self) -> StatePool {
        let layer = DeltaLayer::state_sizes(self.shape);
        let shape = StatePoolShape { layer, layers: 2, slots: 6, lanes: 3, tentative: 20 };
        StatePool::new(shape).unwrap()
    }

    fn run(&self, cpu: &Cpu, states: &mut StatePool, sequences: &[(usize, StateSequence)]) -> Vec<f32> {
        let (wide, narrow) = (self.shape.projected_width(), self.shape.rates_width());
        let (mut projected, mut rates) = (Vec::new(), Vec::new());
        for (from, one) in sequences {
            projected.extend(&self.projected[from * wide..(from + one.rows) * wide]);
            rates.extend(&self.rates[from * narrow..(from + one.rows) * narrow]);
        }
        let mut next = 0;
        let sequences: Vec<StateSequence> = sequences
            .iter()
            .map(|(_, one)| {
                next += one.rows;
                StateSequence { first_row: next - one.rows, ..one.clone() }
            })
            .collect();
        let mut out = vec![f32::NAN; next * self.shape.out_width()];
        let weights = DeltaLayer::new(self.shape, self.weights());
        gated_delta(cpu, &weights, (&projected, &rates), &sequences, states.layer_mut(1), &mut out);
        out
    }
}

/// Runs a check for every shape and instruction set, with the whole sequence's results.
fn for_each(check: impl Fn(&Layer, &Cpu, &[f32])) {
    for (shape, isa) in
        SHAPES.into_iter().flat_map(|shape| Isa::available().into_iter().map(move |isa| (shape, isa)))
    {
        let (layer, cpu) = (Layer::new(shape), Cpu::with_isa(2, isa));
        let whole = whole(&layer, &cpu);
        check(&layer, &cpu, &whole);
    }
}

#[test]
fn rows_of_a_sequence_equal_the_reference() {
    for_each(|layer, cpu, whole| {
        let wanted = reference::gated_delta(layer.shape, layer.weights(), &layer.projected, &layer.rates);
        for (i, (a, b)) in whole.iter().zip(&wanted).enumerate() {
            assert!((f64::from(*a) - b).abs() <= 2e-4 * (1.0 + b.abs()), "{} {i}: {a} {b}", cpu.isa().name());
        }
    });
}

#[test]
fn chunks_and_neighbours_change_no_bit() {
    for_each(chunks_and_neighbours);
}

#[test]
fn rows_taken_back_leave_no_trace() {
    for_each(rows_taken_back);
}

#[test]
fn sequences_go_on_from_states_that_were_kept() {
    for_each(kept_states);
}

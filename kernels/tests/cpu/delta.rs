//! The gated delta rule against its reference, and against itself with a sequence cut differently,
//! beside others, with rows taken back, and from states that were kept.

use kernels::cpu::{
    Cpu, DeltaLayer, FirstState, Isa, StatePool, StatePoolShape, StateSave, StateSequence, gated_delta,
};
use ops::{DeltaLayout, DeltaShape, DeltaWeights, HeadPairing, Norm, reference};

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
const ROWS: usize = 41;

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

    fn states(&self) -> StatePool {
        let layer = DeltaLayer::state_sizes(self.shape);
        let shape = StatePoolShape { layer, layers: 2, slots: 6, lanes: 3, tentative: 20 };
        StatePool::new(shape).unwrap()
    }

    /// Runs rows `from .. from + one.rows` of the input for each sequence, in layer 1.
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

fn rows(rows: usize, slot: usize, start: FirstState) -> StateSequence {
    StateSequence { first_row: 0, rows, slot, start, tentative: 0, saves: Vec::new() }
}

const GOES_ON: FirstState = FirstState::Slot { accepted: 0 };

/// Runs a check for every shape and instruction set, with the whole sequence's results.
fn for_each(check: impl Fn(&Layer, &Cpu, &[f32])) {
    for (shape, isa) in
        SHAPES.into_iter().flat_map(|shape| Isa::available().into_iter().map(move |isa| (shape, isa)))
    {
        let (layer, cpu) = (Layer::new(shape), Cpu::with_isa(2, isa));
        let whole = layer.run(&cpu, &mut layer.states(), &[(0, rows(ROWS, 0, FirstState::Empty))]);
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
    for_each(|layer, cpu, whole| {
        let (mut states, mut done, width) = (layer.states(), [0, 0], layer.shape.out_width());
        for step in 0.. {
            let counts = [1 + step % 3, 19 - step % 7];
            let next = |i: usize| {
                let start = if done[i] == 0 { FirstState::Empty } else { GOES_ON };
                (done[i], rows(counts[i].min(ROWS - done[i]), 2 * i, start))
            };
            let sequences: Vec<_> = [0, 1].map(next).into_iter().filter(|(_, one)| one.rows > 0).collect();
            if sequences.is_empty() {
                break;
            }
            let out = layer.run(cpu, &mut states, &sequences);
            let mut got = &out[..];
            for (from, one) in &sequences {
                let (own, rest) = got.split_at(one.rows * width);
                assert_eq!(own, &whole[from * width..][..own.len()], "{} step {step}", cpu.isa().name());
                (got, done[one.slot / 2]) = (rest, from + one.rows);
            }
        }
    });
}

#[test]
fn rows_taken_back_leave_no_trace() {
    for_each(|layer, cpu, whole| {
        let width = layer.shape.out_width();
        for (tentative, accepted) in [(1, 0), (1, 1), (5, 0), (5, 3), (18, 18), (18, 17)] {
            let mut states = layer.states();
            let first = StateSequence { tentative, ..rows(20, 1, FirstState::Empty) };
            let out = layer.run(cpu, &mut states, &[(0, first)]);
            assert_eq!(out, whole[..20 * width], "results of tentative rows");
            let from = 20 - tentative + accepted;
            // What is computed meanwhile in other slots plays no part.
            layer.run(cpu, &mut states, &[(7, rows(3, 0, FirstState::Empty))]);
            let rest = rows(ROWS - from, 1, FirstState::Slot { accepted });
            let out = layer.run(cpu, &mut states, &[(from, rest)]);
            assert_eq!(out, whole[from * width..], "{accepted} of {tentative}");
        }
    });
}

#[test]
fn sequences_go_on_from_states_that_were_kept() {
    for_each(|layer, cpu, whole| {
        let width = layer.shape.out_width();
        let mut states = layer.states();
        let saves = vec![
            StateSave { rows: 3, slot: 3 },
            StateSave { rows: 32, slot: 5 },
            StateSave { rows: 37, slot: 4 },
        ];
        let all = StateSequence { saves: saves.clone(), tentative: 8, ..rows(ROWS, 0, FirstState::Empty) };
        assert_eq!(layer.run(cpu, &mut states, &[(0, all)]), whole);
        for save in saves {
            states.copy(save.slot, 2);
            let out = layer.run(cpu, &mut states, &[(save.rows, rows(ROWS - save.rows, 2, GOES_ON))]);
            assert_eq!(out, whole[save.rows * width..], "from {}", save.rows);
        }
    });
}

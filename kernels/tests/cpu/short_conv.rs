//! The short gated convolution against its reference, and against itself with a sequence cut
//! differently, beside others, with rows taken back, and from states that were kept.

use kernels::cpu::{Cpu, Isa, ShortConv, StatePool, StatePoolShape, StateSequence, short_conv};
use ops::{ShortConvShape, ShortConvWeights, reference};

use super::states::{ROWS, StateLayer, chunks_and_neighbours, kept_states, rows_taken_back, whole};

/// Channels of one task and of several, whole vectors and not; more taps than some steps have rows.
const SHAPES: [(ShortConvShape, bool); 3] = [
    (ShortConvShape { channels: 40, taps: 3 }, false),
    (ShortConvShape { channels: 523, taps: 4 }, true),
    (ShortConvShape { channels: 64, taps: 7 }, true),
];

fn values(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7919 + seed * 104_729) % 1999) as f32 / 999.0 - 1.0).collect()
}

struct Layer {
    shape: ShortConvShape,
    factors: Vec<f32>,
    bias: Option<Vec<f32>>,
    projected: Vec<f32>,
}

impl Layer {
    fn weights(&self) -> ShortConvWeights<&[f32]> {
        ShortConvWeights { factors: &self.factors, bias: self.bias.as_deref() }
    }
}

impl StateLayer for Layer {
    fn width(&self) -> usize {
        self.shape.channels
    }

    fn states(&self) -> StatePool {
        let layer = ShortConv::state_sizes(self.shape);
        StatePool::new(StatePoolShape { layer, layers: 2, slots: 6, lanes: 3, tentative: 20 }).unwrap()
    }

    fn run(&self, cpu: &Cpu, states: &mut StatePool, sequences: &[(usize, StateSequence)]) -> Vec<f32> {
        let (mut projected, mut placed) = (Vec::new(), Vec::new());
        for (from, one) in sequences {
            let width = self.shape.projected_width();
            let first_row = projected.len() / width;
            projected.extend(&self.projected[from * width..(from + one.rows) * width]);
            placed.push(StateSequence { first_row, ..one.clone() });
        }
        let mut out = vec![f32::NAN; projected.len() / 3];
        let weights = ShortConv::new(self.shape, self.weights());
        short_conv(cpu, &weights, &projected, &placed, states.layer_mut(1), &mut out);
        out
    }
}

/// Runs a check for every shape and instruction set, with the whole sequence's results.
fn for_each(check: impl Fn(&Layer, &Cpu, &[f32])) {
    for (shape, biased) in SHAPES {
        let layer = Layer {
            shape,
            factors: values(shape.channels * shape.taps, 1),
            bias: biased.then(|| values(shape.channels, 2)),
            projected: values(ROWS * shape.projected_width(), 3),
        };
        for isa in Isa::available() {
            let cpu = Cpu::with_isa(2, isa);
            let whole = whole(&layer, &cpu);
            check(&layer, &cpu, &whole);
        }
    }
}

#[test]
fn convolved_rows_equal_the_reference() {
    for_each(|layer, cpu, whole| {
        let wanted = reference::short_conv(layer.shape, layer.weights(), &layer.projected);
        assert_eq!(whole.len(), wanted.len());
        for (i, (a, b)) in whole.iter().zip(&wanted).enumerate() {
            assert!((f64::from(*a) - b).abs() <= 1e-5, "{} {i}: {a} {b}", cpu.isa().name());
        }
    });
}

#[test]
fn chunks_and_neighbours_leave_convolutions_equal() {
    for_each(chunks_and_neighbours);
}

#[test]
fn taken_back_rows_leave_no_trace_in_convolutions() {
    for_each(rows_taken_back);
}

#[test]
fn convolutions_go_on_from_states_that_were_kept() {
    for_each(kept_states);
}

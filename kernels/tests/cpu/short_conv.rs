//! The short gated convolution against its reference, and against itself with a sequence cut
//! differently, beside others, with rows taken back, and from states that were kept.

use kernels::cpu::{
    Cpu, FirstState, Isa, ShortConv, StatePool, StatePoolShape, StateSave, StateSequence, short_conv,
};
use ops::{ShortConvShape, ShortConvWeights, reference};

/// Channels of one task and of several, whole vectors and not; more taps than some steps have rows.
const SHAPES: [(ShortConvShape, bool); 3] = [
    (ShortConvShape { channels: 40, taps: 3 }, false),
    (ShortConvShape { channels: 523, taps: 4 }, true),
    (ShortConvShape { channels: 64, taps: 7 }, true),
];
const ROWS: usize = 41;

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

    fn states(&self) -> StatePool {
        let layer = ShortConv::state_sizes(self.shape);
        StatePool::new(StatePoolShape { layer, layers: 2, slots: 6, lanes: 3, tentative: 20 }).unwrap()
    }

    /// Runs the rows of the input from the given one on for each sequence, in layer 1.
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

fn rows(rows: usize, slot: usize, start: FirstState) -> StateSequence {
    StateSequence { first_row: 0, rows, slot, start, tentative: 0, saves: Vec::new() }
}

const GOES_ON: FirstState = FirstState::Slot { accepted: 0 };

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
            let whole = layer.run(&cpu, &mut layer.states(), &[(0, rows(ROWS, 0, FirstState::Empty))]);
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
    for_each(|layer, cpu, whole| {
        let (mut states, mut done, width) = (layer.states(), [0, 0], layer.shape.channels);
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
fn taken_back_rows_leave_no_trace_in_convolutions() {
    for_each(|layer, cpu, whole| {
        let width = layer.shape.channels;
        for (tentative, accepted) in [(1, 0), (1, 1), (5, 0), (5, 3), (18, 18), (18, 17), (20, 0), (20, 9)] {
            let mut states = layer.states();
            let first = StateSequence { tentative, ..rows(20, 1, FirstState::Empty) };
            assert_eq!(layer.run(cpu, &mut states, &[(0, first)]), whole[..20 * width], "tentative rows");
            let from = 20 - tentative + accepted;
            // What is computed meanwhile in other slots plays no part.
            layer.run(cpu, &mut states, &[(7, rows(3, 0, FirstState::Empty))]);
            // All of the next rows may be taken back, too, and then come again.
            let start = FirstState::Slot { accepted };
            let next = StateSequence { tentative: 2, ..rows(2, 1, start) };
            let out = layer.run(cpu, &mut states, &[(from, next)]);
            assert_eq!(out, whole[from * width..][..2 * width], "{accepted} of {tentative}");
            let out = layer.run(cpu, &mut states, &[(from, rows(ROWS - from, 1, GOES_ON))]);
            assert_eq!(out, whole[from * width..], "{accepted} of {tentative}");
        }
    });
}

#[test]
fn convolutions_go_on_from_states_that_were_kept() {
    for_each(|layer, cpu, whole| {
        let width = layer.shape.channels;
        let mut states = layer.states();
        let saves = [(1, 3), (32, 5), (37, 4)].map(|(rows, slot)| StateSave { rows, slot });
        let all = StateSequence { saves: saves.into(), tentative: 8, ..rows(ROWS, 0, FirstState::Empty) };
        assert_eq!(layer.run(cpu, &mut states, &[(0, all)]), whole);
        for save in saves {
            states.copy(save.slot, 2);
            let out = layer.run(cpu, &mut states, &[(save.rows, rows(ROWS - save.rows, 2, GOES_ON))]);
            assert_eq!(out, whole[save.rows * width..], "from {}", save.rows);
        }
    });
}

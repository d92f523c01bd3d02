//! What holds of every layer that keeps a state of each sequence: it computes the same rows with a
//! sequence cut differently, beside others, with rows taken back, and from states that were kept.

use kernels::cpu::{Cpu, FirstState, StatePool, StateSave, StateSequence};

/// Rows of the whole sequence.
pub(crate) const ROWS: usize = 41;
const GOES_ON: FirstState = FirstState::Slot { accepted: 0 };

/// A layer with the input of [`ROWS`] rows.
pub(crate) trait StateLayer {
    /// Columns of a result.
    fn width(&self) -> usize;
    /// A pool of two layers, six slots, and up to twenty tentative rows in three lanes.
    fn states(&self) -> StatePool;
    /// Runs the rows of the input from the given one on for each sequence, in layer 1.
    fn run(&self, cpu: &Cpu, states: &mut StatePool, sequences: &[(usize, StateSequence)]) -> Vec<f32>;
}

pub(crate) fn rows(rows: usize, slot: usize, start: FirstState) -> StateSequence {
    StateSequence { first_row: 0, rows, slot, start, tentative: 0, saves: Vec::new() }
}

/// Results of the whole sequence.
pub(crate) fn whole(layer: &impl StateLayer, cpu: &Cpu) -> Vec<f32> {
    layer.run(cpu, &mut layer.states(), &[(0, rows(ROWS, 0, FirstState::Empty))])
}

/// Two sequences beside each other, in pieces of other sizes each step.
pub(crate) fn chunks_and_neighbours(layer: &impl StateLayer, cpu: &Cpu, whole: &[f32]) {
    let (mut states, mut done, width) = (layer.states(), [0, 0], layer.width());
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
}

/// Rows that are taken back, once or twice, before others come.
pub(crate) fn rows_taken_back(layer: &impl StateLayer, cpu: &Cpu, whole: &[f32]) {
    let width = layer.width();
    for (tentative, accepted) in [(1, 0), (1, 1), (5, 0), (5, 3), (18, 18), (18, 17), (20, 0), (20, 9)] {
        for twice in [false, true] {
            let mut states = layer.states();
            let first = StateSequence { tentative, ..rows(20, 1, FirstState::Empty) };
            assert_eq!(layer.run(cpu, &mut states, &[(0, first)]), whole[..20 * width], "tentative rows");
            let from = 20 - tentative + accepted;
            // What is computed meanwhile in other slots plays no part.
            layer.run(cpu, &mut states, &[(7, rows(3, 0, FirstState::Empty))]);
            let mut start = FirstState::Slot { accepted };
            if twice {
                let next = StateSequence { tentative: 2, ..rows(2, 1, start) };
                let out = layer.run(cpu, &mut states, &[(from, next)]);
                assert_eq!(out, whole[from * width..][..2 * width], "{accepted} of {tentative}");
                start = GOES_ON;
            }
            let out = layer.run(cpu, &mut states, &[(from, rows(ROWS - from, 1, start))]);
            assert_eq!(out, whole[from * width..], "{accepted} of {tentative}, twice: {twice}");
        }
    }
}

/// Copies of states that were saved within a step.
pub(crate) fn kept_states(layer: &impl StateLayer, cpu: &Cpu, whole: &[f32]) {
    let width = layer.width();
    let mut states = layer.states();
    let saves = [(1, 1), (3, 3), (32, 5), (37, 4)].map(|(rows, slot)| StateSave { rows, slot });
    let all = StateSequence { saves: saves.into(), tentative: 8, ..rows(ROWS, 0, FirstState::Empty) };
    assert_eq!(layer.run(cpu, &mut states, &[(0, all)]), whole);
    for save in saves {
        states.copy(save.slot, 2);
        let out = layer.run(cpu, &mut states, &[(save.rows, rows(ROWS - save.rows, 2, GOES_ON))]);
        assert_eq!(out, whole[save.rows * width..], "from {}", save.rows);
    }
}

//! The device's sampler chooses the tokens that the CPU's sampler chooses from the same logits.

use super::goldens::runner_on_shim;
use super::rig::{Part, batch};
use crate::cpu::Sampler;
use crate::runner::{Draw, Draws, Edit, Runner};
use crate::token::SamplingParams;

/// Draws with all kinds of sampling parameters.
fn draws(count: u32) -> Vec<Draw> {
    let one = |n: u32| Draw {
        sampling: SamplingParams {
            temperature: [0.0, 0.7, 1.0, 1.8][n as usize % 4],
            top_p: [1.0, 0.9, 0.4][n as usize % 3],
            top_k: [0, 1, 5, 50][n as usize / 2 % 4],
            min_p: [0.0, 0.05][n as usize / 3 % 2],
            seed: u64::from(n) << 33 | 7,
        },
        position: n as usize * 31,
        top_logprobs: [None, Some(0), Some(5), Some(20)][n as usize % 4],
    };
    (0..count).map(one).collect()
}

#[test]
fn the_device_draws_what_the_cpu_draws() {
    let (mut runner, mut cpu) = (runner_on_shim("qwen3-tiny"), Sampler::default());
    let vocab = runner.shape().vocab;
    for round in 0..4u32 {
        let tokens: Vec<u32> = (0..24).map(|at| (at * 37 + round * 101) % 500).collect();
        let mut step = batch(&[Part { lane: 1, tokens: &tokens, from: 0 }]);
        step.logit_rows = (0..24).collect();
        runner.forward(&step).unwrap();
        let logits = runner.step_logits();
        let mut rows = draws(24);
        // Some rows score a token that is given, as those of prompts do.
        rows.iter_mut().skip(1).step_by(3).for_each(|draw| draw.sampling = SamplingParams::GREEDY);
        let edited = |row| [3, 40, 333].map(|id| Edit { row, id, bias: 0.5, repetition: 1.3, minus: 0.2 });
        let edits: Vec<Edit> = (0..24)
            .flat_map(|row| match row % 3 {
                0 => edited(row).to_vec(),
                1 => vec![Edit::force(row, row * 11)],
                _ => Vec::new(),
            })
            .collect();
        let mask_rows: Vec<u32> = (0..24).step_by(5).collect();
        let words = vocab.div_ceil(32);
        let word = |at: usize| 0x9e37_79b9_u32.rotate_left(u32::try_from(at % 32).unwrap());
        let masks: Vec<u32> = (0..mask_rows.len() * words).map(word).collect();
        let draws = Draws { rows: &rows, edits: &edits, mask_rows: &mask_rows, masks: &masks };
        runner.sample(&draws).unwrap();
        let got = &runner.collect().unwrap().rows;
        assert_eq!(got.len(), rows.len());
        for (row, (got, draw)) in got.iter().zip(&rows).enumerate() {
            let (mask, edits) = draws.limits(row);
            let wanted = cpu.next(&logits[row * vocab..][..vocab], draw, mask, edits).unwrap();
            let got = got.as_ref().unwrap();
            assert_eq!(got.id, wanted.id, "round {round}, row {row}: {draw:?}");
            assert!(row % 3 != 1 || got.id as usize == row * 11, "row {row}");
            match (&got.logprobs, &wanted.logprobs) {
                (None, None) => {}
                (Some(got), Some(wanted)) => {
                    assert!((got.chosen - wanted.chosen).abs() < 1e-4, "{got:?}, {wanted:?}");
                    let ids = |top: &[(u32, f32)]| top.iter().map(|(id, _)| *id).collect::<Vec<_>>();
                    assert_eq!(ids(&got.top), ids(&wanted.top), "row {row}");
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

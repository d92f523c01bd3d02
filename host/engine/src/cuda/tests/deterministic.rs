//! Logits of a row are equal to the last bit whatever is computed beside it, and however its
//! sequence was cut into steps. `deterministic` promises this.

use super::rig::{Part, batch, device, load, options};
use crate::cuda::{CudaOptions, CudaRunner};
use crate::runner::Runner;

const DENSE: &str = "qwen3-tiny";
const LATENT: &str = "kimi-tiny";
/// Longer than one span of attention (256 positions).
const PROMPT: usize = 262;
const DECODED: usize = 3;

fn token(at: usize) -> u32 {
    u32::try_from(at * 7 % 251).unwrap()
}

fn tokens(from: usize, count: usize) -> Vec<u32> {
    (from..from + count).map(token).collect()
}

/// Bits of the logits of a step's first row that has logits.
fn logits(runner: &mut CudaRunner, parts: &[Part<'_>]) -> Vec<u32> {
    let batch = batch(parts);
    runner.forward(&batch).unwrap();
    let all = runner.step_logits();
    all[..runner.shape().vocab].iter().map(|logit| logit.to_bits()).collect()
}

fn own(tokens: &[u32], from: usize) -> Part<'_> {
    Part { lane: 1, tokens, from }
}

/// Logits of the last tokens, decoded one by one behind a prompt in chunks of `chunk`. Beside each
/// runs a part of another prompt, unless `other` is empty.
fn decoded(runner: &mut CudaRunner, chunk: usize, other: &[u32]) -> Vec<Vec<u32>> {
    for from in (0..PROMPT).step_by(chunk) {
        logits(runner, &[own(&tokens(from, chunk.min(PROMPT - from)), from)]);
    }
    let step = |at: usize| {
        let (token, others) = ([token(PROMPT + at)], at * other.len());
        let mut parts = vec![own(&token, PROMPT + at)];
        if !other.is_empty() {
            parts.push(Part { lane: 0, tokens: other, from: others });
        }
        logits(runner, &parts)
    };
    (0..DECODED).map(step).collect()
}

/// Logits of the tokens that `decoded` decodes, each computed as the last token of a prompt.
fn computed_again(runner: &mut CudaRunner) -> Vec<Vec<u32>> {
    let mut all = Vec::new();
    for at in 0..DECODED {
        let end = PROMPT + at + 1;
        for from in (0..end).step_by(50) {
            let last = logits(runner, &[own(&tokens(from, 50.min(end - from)), from)]);
            if from + 50 >= end {
                all.push(last);
            }
        }
    }
    all
}

/// Logits of the same tokens computed in several ways: alone, beside others, in other chunks, and
/// as the end of a prompt, as after a preemption.
fn ways(name: &str, deterministic: bool) -> Vec<Vec<Vec<u32>>> {
    let options = CudaOptions { deterministic, ..options() };
    let mut runner = load(device(), name, &options, &mut |_| {}).unwrap();
    vec![
        decoded(&mut runner, 64, &[]),
        decoded(&mut runner, 64, &tokens(9, 30)),
        decoded(&mut runner, 37, &[]),
        computed_again(&mut runner),
    ]
}

fn check_same_bits(name: &str) {
    let ways = ways(name, true);
    for (i, way) in ways.iter().enumerate() {
        assert!(*way == ways[0], "{name}, way {i}");
    }
}

#[test]
fn deterministic_bits_do_not_depend_on_the_step() {
    check_same_bits(DENSE);
}

#[test]
#[ignore = "a quarter of a minute: tests/nightly.sh"]
fn so_it_does_with_experts_and_a_compressed_cache() {
    check_same_bits(LATENT);
}

/// Checks that the tests above compare ways that can differ.
#[test]
#[ignore = "a quarter of a minute: tests/nightly.sh"]
fn the_kernels_of_other_engines_add_in_other_orders() {
    // Layers of the second model are so narrow that more rows don't change their sums.
    for (name, different) in [(DENSE, &[1, 3][..]), (LATENT, &[3])] {
        let ways = ways(name, false);
        for way in different {
            assert!(ways[*way] != ways[0], "{name}, way {way}");
        }
    }
}

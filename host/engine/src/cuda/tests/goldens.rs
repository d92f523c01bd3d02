//! Models on the tests' device, against logits and tokens that transformers computed.

use serde::Deserialize;

use super::rig::{Part, batch, device, folder, load, options};
use crate::cuda::driver::Driver;
use crate::cuda::{CudaOptions, CudaRunner};
use crate::runner::Runner;

/// Bounds of the difference of logits: its greatest value and its root mean square, each relative
/// to that of the logits. The difference comes from bf16 activations, which transformers didn't
/// round, and from bf16 weights where the model has other types.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tolerance {
    pub(super) greatest: f32,
    pub(super) root: f32,
}

/// For random models, whose logits are small compared with the terms that they are sums of.
pub(super) const RANDOM: Tolerance = Tolerance { greatest: 4.5e-2, root: 3.5e-2 };
pub(super) const TRAINED: Tolerance = Tolerance { greatest: 5e-3, root: 1e-2 };

#[derive(Deserialize)]
struct Golden {
    prompts: Vec<Prompt>,
}

#[derive(Deserialize)]
struct Prompt {
    ids: Vec<u32>,
    logits: Vec<f32>,
    greedy: Vec<u32>,
}

fn golden(name: &str) -> Golden {
    serde_json::from_slice(&std::fs::read(folder(name).join("golden.json")).unwrap()).unwrap()
}

pub(super) fn runner_on_shim(name: &str) -> CudaRunner {
    runner_on(device(), name)
}

fn runner_on(device: Box<dyn Driver>, name: &str) -> CudaRunner {
    let options = CudaOptions { lanes: 2, ..options() };
    load(device, name, &options, &mut |_| {}).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Runs `tokens` on lane 1 in chunks, from position `from` on; returns the logits of the last
/// token.
fn run(runner: &mut CudaRunner, tokens: &[u32], from: usize, chunk: usize) -> Vec<f32> {
    let mut logits = Vec::new();
    for (i, tokens) in tokens.chunks(chunk).enumerate() {
        runner.forward(&batch(&[Part { lane: 1, tokens, from: from + i * chunk }])).unwrap();
        logits = runner.step_logits();
    }
    logits
}

pub(super) fn assert_close(what: &str, got: &[f32], wanted: &[f32], tolerance: Tolerance) {
    assert_eq!(got.len(), wanted.len(), "{what}");
    let greatest = |values: &mut dyn Iterator<Item = f32>| values.fold(0f32, |a, x| a.max(x.abs()));
    let squares = |values: &mut dyn Iterator<Item = f32>| values.map(|x| x * x).sum::<f32>().sqrt();
    let mut apart = got.iter().zip(wanted).map(|(x, y)| x - y);
    let most = greatest(&mut apart.clone()) / greatest(&mut wanted.iter().copied());
    let root = squares(&mut apart) / squares(&mut wanted.iter().copied());
    println!("{what}: {most:.1e} at most, {root:.1e}");
    assert!(most <= tolerance.greatest && root <= tolerance.root, "{what}: {most} at most, {root}");
}

/// Checks every prompt of up to `longest` tokens, run whole, and with its last three tokens one by
/// one: steps with prompts, and graphs.
pub(super) fn check(name: &str, tolerance: Tolerance, longest: usize) {
    check_each(name, longest, |_| tolerance);
}

/// [`check`] on another device.
pub(super) fn check_on(
    device: impl Fn() -> Box<dyn Driver>,
    name: &str,
    tolerance: Tolerance,
    longest: usize,
) {
    check_runner(&mut runner_on(device(), name), name, longest, |_| tolerance);
}

/// [`check`] with bounds for each length of a prompt.
pub(super) fn check_each(name: &str, longest: usize, tolerance: impl Fn(usize) -> Tolerance) {
    check_runner(&mut runner_on_shim(name), name, longest, tolerance);
}

fn check_runner(runner: &mut CudaRunner, name: &str, longest: usize, tolerance: impl Fn(usize) -> Tolerance) {
    for Prompt { ids, logits, .. } in golden(name).prompts.iter().filter(|prompt| prompt.ids.len() <= longest)
    {
        let (what, tolerance) = (format!("{name}, {} tokens", ids.len()), tolerance(ids.len()));
        let (head, tail) = ids.split_at(ids.len().saturating_sub(3));
        let whole = run(runner, ids, 0, 64);
        assert_close(&what, &whole, logits, tolerance);
        run(runner, head, 0, 50);
        let decoded = run(runner, tail, head.len(), 1);
        assert_close(&format!("{what}, three decoded"), &decoded, logits, tolerance);
    }
}

#[test]
fn dense_models_have_the_logits_of_transformers() {
    for name in
        ["tied-bf16", "llama3-bf16", "mistral-bf16", "mistral-window-bf16", "sharded-bf16", "yarn-bf16"]
    {
        check(name, RANDOM, 200);
    }
}

#[test]
fn dense_models_of_other_types_are_rounded_to_bf16() {
    for name in ["llama2-f16", "gqa4-f16", "bias-f32", "llama-bias-f32", "odd-f32", "yarn-f32"] {
        check(name, RANDOM, 40);
    }
}

#[test]
fn relatives_of_llama_have_the_logits_of_transformers() {
    for name in [
        "qwen2-bf16",
        "qwen2-window-f32",
        "smollm3-bf16",
        "granite-bf16",
        "granite-hybrid-bf16",
        "ministral3-bf16",
        "mistral3-bf16",
        "phi3-short-bf16",
        "phi3-long-f32",
        "gemma3-linear-f32",
        "gemma3-vision-bf16",
    ] {
        check(name, RANDOM, 40);
    }
}

#[test]
fn the_trained_model_has_the_logits_of_transformers() {
    check("qwen3-tiny", TRAINED, 300);
}

/// The likeliest token, and its lead: the difference of its logit to the next one's.
fn best(logits: &[f32]) -> (u32, f32) {
    let mut order: Vec<usize> = (0..logits.len()).collect();
    order.sort_by(|a, b| logits[*b].total_cmp(&logits[*a]));
    (u32::try_from(order[0]).unwrap(), logits[order[0]] - logits[order[1]])
}

/// Compares the greedy tokens of prompts of up to `longest` tokens with those of transformers,
/// wherever the lead is at least `lead_of`; rounding may change which of two nearer logits is
/// greater. Returns how many tokens were compared.
pub(super) fn check_greedy(name: &str, lead_of: f32, longest: usize) -> usize {
    let (mut runner, mut compared) = (runner_on_shim(name), 0);
    let prompts = golden(name).prompts;
    for Prompt { ids, greedy, .. } in prompts.iter().filter(|prompt| prompt.ids.len() <= longest) {
        let mut logits = run(&mut runner, ids, 0, 64);
        for (at, wanted) in greedy.iter().enumerate() {
            let (token, lead) = best(&logits);
            assert!(token == *wanted || lead < lead_of, "{} tokens, token {at}: lead {lead}", ids.len());
            compared += usize::from(lead >= lead_of);
            // The sequence goes on with the token that transformers chose.
            logits = run(&mut runner, &[*wanted], ids.len() + at, 1);
        }
    }
    compared
}

#[test]
fn clear_greedy_tokens_are_those_of_transformers() {
    let compared = check_greedy("qwen3-tiny", 0.25, usize::MAX);
    assert!(compared >= 100, "only {compared} tokens were far enough ahead");
}

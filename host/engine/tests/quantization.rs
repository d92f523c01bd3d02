//! Errors of number types with fewer bits: logits of the trained models on their own transcripts,
//! against those computed exactly.
//!
//! Every position's Kullback-Leibler divergence from the exact distribution, in nats, and how often
//! the likeliest token is the same.
#![expect(clippy::unwrap_used, reason = "a test may fail here")]
#![expect(clippy::cast_precision_loss, reason = "counts of a few hundred")]

use std::path::Path;

use engine::ModelFiles;
use engine::cpu::{self, CpuOptions, Numerics, QuantizeTo, Threads};
use engine::runner::Runner;
use serde::Deserialize;

mod steps;
use steps::{Sequence, batch, run};

#[derive(Deserialize)]
struct Golden {
    prompts: Vec<Prompt>,
}

/// A prompt, and the model's greedy answer.
#[derive(Deserialize)]
struct Prompt {
    ids: Vec<u32>,
    greedy: Vec<u32>,
}

/// Logits of all positions of all transcripts, a row for each.
fn logits(folder: &Path, prompts: &[Prompt], numerics: Numerics) -> Vec<Vec<f32>> {
    let options = CpuOptions { kv_cache_bytes: 64 << 20, numerics, ..CpuOptions::default() };
    let files = ModelFiles::Directory(folder.to_owned());
    let mut runner = cpu::load(&files, &Threads::start(Some(2)).unwrap(), &options, &mut |_| {}).unwrap();
    let vocab = runner.shape().vocab;
    let mut rows = Vec::new();
    for prompt in prompts {
        let ids = [prompt.ids.as_slice(), &prompt.greedy].concat();
        let sequence = Sequence::new(&ids, 0, 1);
        let all = run(&mut runner, &batch(&[&sequence], &[ids.len()], true)).unwrap();
        rows.extend(all.chunks_exact(vocab).map(<[f32]>::to_vec));
    }
    rows
}

fn log_probabilities(logits: &[f32]) -> Vec<f64> {
    let most = logits.iter().fold(f32::NEG_INFINITY, |a, b| a.max(*b));
    let sum: f64 = logits.iter().map(|x| f64::from(x - most).exp()).sum();
    logits.iter().map(|x| f64::from(x - most) - sum.ln()).collect()
}

fn divergence(exact: &[f32], other: &[f32]) -> f64 {
    let (p, q) = (log_probabilities(exact), log_probabilities(other));
    p.iter().zip(q).map(|(p, q)| p.exp() * (p - q)).sum()
}

fn likeliest(logits: &[f32]) -> usize {
    logits.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap().0
}

#[test]
fn fewer_bits_change_trained_models_little() {
    for (model, bounds) in [("qwen3-tiny", [0.001, 0.005, 0.1]), ("gpt-oss-tiny", [0.001, 0.005, 0.1])] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models").join(model);
        let golden: Golden =
            serde_json::from_slice(&std::fs::read(folder.join("golden.json")).unwrap()).unwrap();
        let wanted = logits(&folder, &golden.prompts, Numerics::EXACT);
        let numbers = [("auto", None), ("q8", Some(QuantizeTo::Q8)), ("q4", Some(QuantizeTo::Q4))];
        for ((name, quantize), bound) in numbers.into_iter().zip(bounds) {
            let got = logits(&folder, &golden.prompts, Numerics { quantize, ..Numerics::default() });
            let pairs = || wanted.iter().zip(&got);
            let mean = pairs().map(|(a, b)| divergence(a, b)).sum::<f64>() / wanted.len() as f64;
            let same = pairs().filter(|(a, b)| likeliest(a) == likeliest(b)).count();
            println!(
                "{model:<13}{name:<5} {mean:.1e} nats, {same} of {} likeliest tokens the same",
                wanted.len()
            );
            assert!(mean < bound, "{model} {name}: {mean}");
            assert!(same * 5 >= wanted.len() * 4, "{model} {name}: {same} of {}", wanted.len());
        }
    }
}

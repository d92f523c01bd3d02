//! Kernels that steps are made of.

use std::sync::{Arc, Mutex};

use super::fake::{Call, FakeDriver, Log, calls};
use super::rig::{Part, batch, load, one, options, step};
use crate::cuda::{CudaOptions, CudaRunner};

/// Trained models, whose heads all kernels support.
const DENSE: &str = "qwen3-tiny";
const LATENT: &str = "kimi-tiny";

/// Names of the launched kernels, in order.
fn launches(calls: &[Call]) -> Vec<&'static str> {
    calls.iter().filter_map(|call| if let Call::Launch(entry) = call { Some(*entry) } else { None }).collect()
}

/// A model on a driver that computes nothing.
fn model(name: &str, options: &CudaOptions) -> (CudaRunner, Arc<Mutex<Log>>) {
    let (driver, log) = FakeDriver::new();
    (load(Box::new(driver), name, options, &mut |_| {}).unwrap(), log)
}

/// Kernels of a graph's first layer and of its head; `number` is the index of its bucket.
fn graph(options: &CudaOptions, number: usize) -> (Vec<&'static str>, Vec<&'static str>) {
    let (_runner, log) = model(DENSE, options);
    let calls = calls(&log);
    let graph = calls.split(|call| *call == Call::BeginCapture).nth(number + 1).unwrap();
    let all = launches(graph.split(|call| *call == Call::EndCapture).next().unwrap());
    let second = all.iter().skip(2).position(|entry| *entry == "qk_norm_rope_write").unwrap() + 2;
    let third = all.iter().skip(second + 1).position(|entry| *entry == "qk_norm_rope_write").unwrap();
    let last = all.iter().rposition(|entry| *entry == "qk_norm_rope_write").unwrap();
    // A layer is taken from one `qk_norm_rope_write` to the next.
    (all[second..=second + third].to_vec(), all[last..].to_vec())
}

#[test]
fn a_few_rows_are_decoded_by_six_kernels_a_layer() {
    let (layer, head) = graph(&options(), 0);
    let decode = ["qk_norm_rope_write", "attention_decode"];
    // Norms, gates and residual additions are part of the linear kernels.
    assert_eq!(layer, [&decode[..], &["linear_skinny"; 4]].concat());
    assert_eq!(head, [&decode[..], &["linear_skinny"; 4]].concat());
}

#[test]
fn more_rows_have_norms_of_their_own() {
    let (layer, _) = graph(&options(), 3);
    let around = ["linear_skinny", "rms_norm", "linear_skinny", "linear_skinny", "rms_norm", "linear_skinny"];
    assert_eq!(layer, [&["qk_norm_rope_write", "attention_decode"][..], &around].concat());
}

#[test]
fn deterministic_kernels_are_the_same_for_any_rows() {
    let options = CudaOptions { deterministic: true, ..options() };
    let around = ["linear_tiles", "rms_norm", "linear_tiles", "linear_tiles", "rms_norm", "linear_tiles"];
    for number in [0, 3] {
        let (layer, _) = graph(&options, number);
        assert_eq!(layer, [&["qk_norm_rope_write", "attention_prefill"][..], &around].concat());
    }
}

/// Kernels of attention of one layer: in a step of a prompt, and in a step of a sequence that
/// decodes beside a prompt.
fn attention(name: &str, options: &CudaOptions) -> [Vec<&'static str>; 2] {
    let (mut runner, log) = model(name, options);
    let mut kernels = |parts: &[Part<'_>]| {
        step(&mut runner, &batch(parts)).unwrap();
        let mut all = launches(&calls(&log));
        all.retain(|entry| {
            ["attention", "mla_decode", "mla_prefill"].iter().any(|name| entry.contains(name))
        });
        let layer = all.iter().skip(1).position(|entry| *entry == all[0]).map_or(all.len(), |next| next + 1);
        all[..layer].to_vec()
    };
    kernels(&[Part { lane: 0, tokens: &[7; 30], from: 0 }]);
    let prompt = kernels(&[Part { lane: 1, tokens: &[7; 9], from: 0 }]);
    [prompt, kernels(&[one(0, 30), Part { lane: 1, tokens: &[7; 9], from: 9 }])]
}

#[test]
fn prompt_rows_and_decode_rows_have_their_own_kernels() {
    let [prompt, both] = attention(DENSE, &options());
    assert_eq!((prompt, both), (vec!["attention_prefill"], vec!["attention_prefill", "attention_decode"]));
    let [prompt, both] = attention(LATENT, &options());
    assert_eq!((prompt, both), (vec!["mla_prefill"], vec!["mla_prefill", "mla_decode"]));
    // The model's compressed rows are narrower than the faster kernels support.
    let [_, both] = attention("deepseek-bf16", &options());
    assert_eq!(both, ["mla_attention"]);
    let deterministic = CudaOptions { deterministic: true, ..options() };
    let [_, both] = attention(LATENT, &deterministic);
    assert_eq!(both, ["mla_prefill"]);
}

#[test]
fn few_row_experts_have_a_kernel_unless_deterministic() {
    let experts = |options: &CudaOptions, tokens: &[u32]| {
        let (mut runner, log) = model("moe-bf16", options);
        calls(&log);
        step(&mut runner, &batch(&[Part { lane: 0, tokens, from: 0 }])).unwrap();
        let mut all = launches(&calls(&log));
        all.retain(|entry| ["moe_linear", "moe_skinny"].contains(entry));
        all
    };
    // Two of eight experts of a token: 24 routes, and 60.
    assert_eq!(experts(&options(), &[7; 12]), ["moe_skinny"; 4]);
    assert_eq!(experts(&options(), &[7; 30]), ["moe_linear"; 4]);
    let deterministic = CudaOptions { deterministic: true, ..options() };
    assert_eq!(experts(&deterministic, &[7; 12]), ["moe_linear"; 4]);
}

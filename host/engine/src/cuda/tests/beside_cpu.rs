//! Random models on the tests' device against the CPU engine: shapes without a golden, and steps
//! that mix all kinds of rows.

use super::rig::{Part, batch, device, options};
use crate::batch::{Batch, TableEdit};
use crate::cpu::{CpuOptions, CpuRunner, Numerics, Threads};
use crate::cuda::{CudaOptions, CudaRunner};
use crate::models::{ModelConfig, Weights};
use crate::runner::Runner;

/// Greatest difference that bf16 activations may cause, relative to the greatest logit.
const TOLERANCE: f32 = 3e-2;

/// Sizes of a dense model, and its attention window and quantisation as JSON.
#[derive(Debug, Clone, Copy)]
struct Shape {
    hidden: usize,
    heads: usize,
    kv_heads: usize,
    head_dim: usize,
    intermediate: usize,
    window: &'static str,
    quantization: &'static str,
}

impl Shape {
    fn config(self) -> ModelConfig {
        let Self { hidden, heads, kv_heads, head_dim, intermediate, window, quantization } = self;
        let text = format!(
            r#"{{"architectures": ["MistralForCausalLM"], "model_type": "mistral", "hidden_act": "silu", "vocab_size": 50,
            "hidden_size": {hidden}, "intermediate_size": {intermediate}, "num_hidden_layers": 2, "num_attention_heads": {heads},
            "num_key_value_heads": {kv_heads}, "head_dim": {head_dim}, "max_position_embeddings": 640, "rms_norm_eps": 1e-6,
            "rope_theta": 10000.0, "tie_word_embeddings": false, "sliding_window": {window},
            "quantization_config": {quantization}}}"#
        );
        parsed(&text)
    }
}

fn parsed(config: &str) -> ModelConfig {
    ModelConfig::parse("config.json", config.as_bytes()).unwrap()
}

/// Model with a compressed cache, whose layers are all dense.
fn latent(heads: usize) -> ModelConfig {
    parsed(&format!(
        r#"{{"architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", "hidden_act": "silu", "vocab_size": 50,
        "hidden_size": 64, "intermediate_size": 48, "moe_intermediate_size": 24, "num_hidden_layers": 2, "first_k_dense_replace": 2,
        "num_attention_heads": {heads}, "num_key_value_heads": {heads}, "q_lora_rank": null, "kv_lora_rank": 64,
        "qk_nope_head_dim": 16, "qk_rope_head_dim": 16, "v_head_dim": 16, "n_routed_experts": 8, "n_shared_experts": 1, "n_group": 1,
        "topk_group": 1, "num_experts_per_tok": 2, "norm_topk_prob": true, "routed_scaling_factor": 2.5, "scoring_func": "sigmoid",
        "topk_method": "noaux_tc", "max_position_embeddings": 640, "rms_norm_eps": 1e-6, "rope_theta": 10000.0,
        "attention_bias": false, "tie_word_embeddings": false}}"#
    ))
}

/// Prompts in chunks, a sequence that decodes beside other prompts, then steps in which all
/// sequences decode.
fn steps() -> Vec<Batch> {
    let tokens: Vec<u32> = (0..600).map(|at| at * 7 % 50).collect();
    let part = |lane, from: usize, count: usize| Part { lane, tokens: &tokens[from..from + count], from };
    let mut steps: Vec<Batch> = (0..6).map(|at| batch(&[part(0, at * 50, 50)])).collect();
    steps.push(batch(&[part(1, 0, 20)]));
    steps.push(batch(&[part(0, 300, 1), part(1, 20, 1), part(2, 0, 30), part(3, 0, 1)]));
    steps.extend((0..2).map(|at| batch(&[part(0, 301 + at, 1), part(1, 21 + at, 1), part(2, 30 + at, 1)])));
    steps
}

/// The batch with the CPU's smaller KV blocks, several of which lie in each block of the device, at
/// the same slots.
fn for_cpu(batch: &Batch, block_size: usize) -> Batch {
    let parts = u32::try_from(64 / block_size).unwrap();
    let edits = batch.table_edits.iter().flat_map(|edit| {
        let TableEdit { lane, at, block } = *edit;
        (0..parts).map(move |part| TableEdit { lane, at: at * parts + part, block: block * parts + part })
    });
    Batch { table_edits: edits.collect(), ..batch.clone() }
}

fn check(shape: Shape, deterministic: bool) {
    check_model(&format!("{shape:?}"), &shape.config(), deterministic);
}

fn check_model(what: &str, config: &ModelConfig, deterministic: bool) {
    let weights = Weights::random_as(config.quantization, 7);
    let cuda = CudaOptions { lanes: 4, deterministic, ..options() };
    let mut gpu = CudaRunner::on(device(), config, &weights, &cuda, &mut |_| {}).unwrap();
    let numerics = Numerics::EXACT;
    let cpu = CpuOptions { kv_cache_bytes: 16 << 20, numerics, ..CpuOptions::default() };
    let threads = Threads::start(Some(1)).unwrap();
    let mut cpu = CpuRunner::new(config, &weights, &threads, &cpu, &mut |_| {}).unwrap();
    for (i, step) in steps().iter().enumerate() {
        gpu.forward(step).unwrap();
        cpu.forward(&for_cpu(step, cpu.shape().block_size)).unwrap();
        let (got, wanted) = (gpu.step_logits(), cpu.logits());
        let most = wanted.iter().fold(0f32, |most, x| most.max(x.abs()));
        let apart = got.iter().zip(wanted).fold(0f32, |most, (x, y)| most.max((x - y).abs()));
        assert_eq!(got.len(), wanted.len());
        assert!(
            apart <= TOLERANCE * most,
            "{what}, deterministic {deterministic}, step {i}: {apart} of {most}"
        );
    }
}

const ALL: Shape = Shape {
    hidden: 64,
    heads: 4,
    kv_heads: 2,
    head_dim: 32,
    intermediate: 48,
    window: "null",
    quantization: "null",
};

/// Rows of one, two and three quantisation blocks, the last ones partial.
const FP8: Shape = Shape {
    hidden: 144,
    intermediate: 272,
    quantization: r#"{"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]}"#,
    ..ALL
};

#[test]
fn prompts_and_decodes_mix_in_all_attention_kernels() {
    check(ALL, false);
    check(Shape { window: "70", ..ALL }, false);
    // First 17 heads for one key head, more than the kernel of spans takes; then a width of heads
    // that only the simple kernel has.
    check(Shape { heads: 17, kv_heads: 1, ..ALL }, false);
    check(Shape { head_dim: 20, ..ALL }, false);
}

#[test]
fn deterministic_engine_differs_only_by_rounding() {
    check(ALL, true);
    check(Shape { head_dim: 20, window: "70", ..ALL }, true);
    check(FP8, true);
}

#[test]
fn fp8_weights_are_multiplied_in_steps_of_all_kinds() {
    check(FP8, false);
    // Rows of 24 codes of the second layer of the feed-forward part become bf16.
    check(Shape { intermediate: 24, ..FP8 }, false);
}

#[test]
fn compressed_caches_have_any_number_of_heads() {
    // Tiles of 64, 16 and four tokens.
    for (heads, deterministic) in [(5, false), (20, true), (16, false), (16, true)] {
        check_model(&format!("{heads} latent heads"), &latent(heads), deterministic);
    }
}

#[test]
fn gates_of_any_width_are_applied() {
    check(Shape { intermediate: 20, ..ALL }, false);
}

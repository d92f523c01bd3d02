//! Models with random weights: reproducible, and large enough that the work is shared by threads.
#![expect(clippy::unwrap_used, reason = "a test may fail here")]

use engine::SamplingParams;
use engine::cpu::{CpuOptions, CpuRunner, InputDtype, KvDtype, Numerics, QuantizeTo, Repack, Threads};
use engine::models::{EngineProgress, ModelConfig, OpKind, Weights};
use engine::runner::{Draw, Draws, RunError, Runner};
use serde_json::{Value, json};

mod steps;
use steps::{Sequence, advance, batch, run};

/// Options with limits below the models' own.
const SHORT: CpuOptions =
    CpuOptions { kv_cache_bytes: 16 << 20, context: Some(100), batch_tokens: 7, numerics: MAPPED };
const DRAW: Draw = Draw { sampling: SamplingParams::GREEDY, position: 7, top_logprobs: None };

fn config(tied: bool, bias: bool) -> ModelConfig {
    let text = json!({
        "architectures": ["Qwen3ForCausalLM"], "vocab_size": 1001, "hidden_size": 160, "intermediate_size": 488,
        "num_hidden_layers": 3, "num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 40,
        "max_position_embeddings": 512, "rope_theta": 1e4, "tie_word_embeddings": tied, "attention_bias": bias,
    });
    ModelConfig::parse("config.json", text.to_string().as_bytes()).unwrap()
}

/// A model of each family, its name first, wide enough that threads share the work.
fn families() -> Vec<(&'static str, ModelConfig)> {
    let sizes = json!({
        "vocab_size": 1001, "hidden_size": 160, "intermediate_size": 224, "num_hidden_layers": 2,
        "num_attention_heads": 12, "num_key_value_heads": 2, "max_position_embeddings": 512, "rope_theta": 1e4,
    });
    let with = |class: &str, fields: Value| {
        let mut text = sizes.clone();
        let all = text.as_object_mut().unwrap();
        all.extend(fields.as_object().unwrap().clone());
        all.insert("architectures".to_owned(), json!([class]));
        ModelConfig::parse("config.json", text.to_string().as_bytes()).unwrap()
    };
    let experts = json!({
        "head_dim": 32, "num_experts": 12, "num_experts_per_tok": 3, "moe_intermediate_size": 96,
        "mlp_only_layers": [0],
    });
    let packed = json!({
        "head_dim": 16, "num_local_experts": 6, "num_experts_per_tok": 2, "sliding_window": 33,
        "quantization_config": {"quant_method": "mxfp4"},
    });
    let latent = json!({
        "n_routed_experts": 16, "num_experts_per_tok": 4, "moe_intermediate_size": 96, "n_shared_experts": 1,
        "first_k_dense_replace": 1, "n_group": 4, "topk_group": 2, "routed_scaling_factor": 2.5,
        "q_lora_rank": 72, "kv_lora_rank": 96, "qk_nope_head_dim": 40, "qk_rope_head_dim": 16, "v_head_dim": 24,
    });
    let gemma = json!({
        "head_dim": 24, "sliding_window": 40, "query_pre_attn_scalar": 24, "sliding_window_pattern": 2,
    });
    let [gemma4, gemma4_experts] = gemma4();
    let phi = json!({
        "hidden_size": 192, "partial_rotary_factor": 0.75, "original_max_position_embeddings": 512,
        "rope_scaling": {"type": "longrope", "short_factor": vec![1.0; 6], "long_factor": vec![2.0; 6]},
    });
    let granite = json!({
        "hidden_size": 192, "embedding_multiplier": 12, "residual_multiplier": 0.22, "logits_scaling": 8,
        "attention_multiplier": 0.25,
    });
    let states = json!({
        "head_dim": 32, "linear_num_key_heads": 4, "linear_num_value_heads": 8, "linear_key_head_dim": 40,
        "linear_value_head_dim": 64, "full_attention_interval": 2,
    });
    let conv = json!({
        "hidden_size": 192, "num_attention_heads": 6, "layer_types": ["conv", "full_attention"],
        "conv_bias": true, "num_dense_layers": 1, "num_experts": 12, "num_experts_per_tok": 3,
        "moe_intermediate_size": 96,
    });
    let mut next = states.clone();
    next.as_object_mut().unwrap().extend(experts.as_object().unwrap().clone());
    next["shared_expert_intermediate_size"] = json!(48);
    let fp8 = json!({"quantization_config": {"quant_method": "fp8", "weight_block_size": [48, 32]}});
    let with_fp8 = |fields: &Value| {
        let mut fields = fields.clone();
        fields.as_object_mut().unwrap().extend(fp8.as_object().unwrap().clone());
        fields
    };
    vec![
        ("qwen3", config(false, true)),
        ("qwen3 with experts, fp8", with("Qwen3MoeForCausalLM", with_fp8(&experts))),
        ("deepseek, fp8", with("DeepseekV3ForCausalLM", with_fp8(&latent))),
        ("mistral", with("MistralForCausalLM", json!({"head_dim": 24, "sliding_window": 50}))),
        (
            "mixtral",
            with(
                "MixtralForCausalLM",
                json!({"head_dim": 16, "num_local_experts": 6, "num_experts_per_tok": 2}),
            ),
        ),
        ("qwen3 with experts", with("Qwen3MoeForCausalLM", experts)),
        ("gpt-oss", with("GptOssForCausalLM", packed)),
        ("deepseek", with("DeepseekV3ForCausalLM", latent)),
        ("qwen3.5", with("Qwen3_5ForCausalLM", states)),
        ("qwen3-next", with("Qwen3NextForCausalLM", next)),
        ("lfm2", with("Lfm2ForCausalLM", conv.clone())),
        ("lfm2 with experts", with("Lfm2MoeForCausalLM", conv)),
        ("gemma", with("Gemma3ForCausalLM", gemma)),
        ("gemma 4", with("Gemma4ForCausalLM", gemma4)),
        ("gemma 4 with experts", with("Gemma4ForCausalLM", gemma4_experts)),
        ("phi", with("Phi3ForCausalLM", phi)),
        ("granite", with("GraniteForCausalLM", granite)),
    ]
}

/// Gemma 4 with rows of each layer's own and shared keys, and with experts and keys as values.
fn gemma4() -> [Value; 2] {
    let small = json!({
        "head_dim": 16, "global_head_dim": 24, "sliding_window": 40, "num_hidden_layers": 4, "num_kv_shared_layers": 2,
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
        "use_double_wide_mlp": true, "hidden_size_per_layer_input": 24, "vocab_size_per_layer_input": 1001,
        "final_logit_softcapping": 30.0,
    });
    let experts = json!({
        "head_dim": 16, "global_head_dim": 24, "sliding_window": 40, "hidden_size_per_layer_input": 0,
        "attention_k_eq_v": true, "num_global_key_value_heads": 1, "enable_moe_block": true, "num_experts": 12,
        "top_k_experts": 3, "moe_intermediate_size": 96,
    });
    [small, experts]
}

fn runner(config: &ModelConfig, seed: u64, threads: usize) -> CpuRunner {
    runner_with(config, seed, threads, Numerics::default())
}

fn runner_with(config: &ModelConfig, seed: u64, threads: usize, numerics: Numerics) -> CpuRunner {
    let options = CpuOptions { kv_cache_bytes: 16 << 20, numerics, ..CpuOptions::default() };
    let weights = Weights::random_as(config.quantization, seed);
    CpuRunner::new(config, &weights, &start(threads), &options, &mut |_| {}).unwrap()
}

/// Numerics that leave weights as files have them.
const MAPPED: Numerics =
    Numerics { kv_cache_dtype: KvDtype::F16, dtype: InputDtype::Auto, quantize: None, repack: Repack::Never };

/// Every kind of numerics.
fn numbers() -> [Numerics; 5] {
    let auto = Numerics::default();
    [
        auto,
        MAPPED,
        Numerics::EXACT,
        Numerics { quantize: Some(QuantizeTo::Q8), ..auto },
        Numerics { quantize: Some(QuantizeTo::Q4), ..auto },
    ]
}

fn start(threads: usize) -> Threads {
    Threads::start(Some(threads)).unwrap()
}

fn prompt(length: u32) -> Sequence {
    Sequence::new(&(0..length).map(|i| i * 37 % 1001).collect::<Vec<_>>(), 0, 2)
}

#[test]
fn random_model_is_decided_by_its_seed() {
    for (tied, bias) in [(true, false), (false, true)] {
        let config = config(tied, bias);
        let logits = |seed| advance(&mut runner(&config, seed, 1), &mut prompt(20), 20);
        assert_eq!(logits(1), logits(1));
        assert_ne!(logits(1), logits(2));
        assert!(logits(1).iter().all(|x| x.is_finite()));
    }
}

#[test]
fn logits_are_bit_equal_for_any_threads_and_any_batch() {
    for ((name, config), options) in
        families().into_iter().flat_map(|family| numbers().map(|options| (family.clone(), options)))
    {
        let length = 300;
        let all = |threads| {
            let batch = batch(&[&prompt(300)], &[length], true);
            run(&mut runner_with(&config, 7, threads, options), &batch).unwrap()
        };
        let whole = all(1);
        assert!(whole.iter().all(|x| x.is_finite()), "{name}");
        for threads in [2, 3, 5] {
            assert!(all(threads) == whole, "{name}, {threads} threads");
        }
        let mut runner = runner_with(&config, 7, 2, options);
        let (mut one, mut other) = (prompt(300), Sequence::new(&prompt(300).tokens, 1, 2));
        for step in 0..20 {
            let counts = [1 + step % 3, 14 - step % 5];
            let rows = run(&mut runner, &batch(&[&one, &other], &counts, true)).unwrap();
            let (first, second) = rows.split_at(counts[0] * 1001);
            assert!(first == &whole[one.done * 1001..][..first.len()], "{name}, step {step}");
            assert!(second == &whole[other.done * 1001..][..second.len()], "{name}, step {step}");
            one.done += counts[0];
            other.done += counts[1];
        }
    }
}

/// Sums have another order with repacked weights, so some inputs are rounded differently.
#[test]
fn repacked_weights_have_the_logits_of_mapped_ones() {
    let largest = |all: &[f32]| all.iter().fold(0.0, |most: f32, x| most.max(x.abs()));
    for (name, config) in families() {
        let of = |numerics| {
            run(&mut runner_with(&config, 5, 2, numerics), &batch(&[&prompt(30)], &[30], true)).unwrap()
        };
        let (mapped, repacked) = (of(MAPPED), of(Numerics::default()));
        let differences: Vec<f32> = mapped.iter().zip(&repacked).map(|(a, b)| a - b).collect();
        assert!(largest(&differences) < 0.02 * largest(&mapped), "{name}: {}", largest(&differences));
    }
}

#[test]
fn weights_are_stored_as_the_configuration_says() {
    for (name, config) in families() {
        let types = match name {
            "gpt-oss" => "bf16, mxfp4",
            "qwen3 with experts, fp8" | "deepseek, fp8" => "bf16, fp8",
            _ => "bf16",
        };
        let runner = runner(&config, 1, 1);
        // `cpu, 1 thread, ISA, types`.
        let found = runner.shape().name.splitn(4, ", ").nth(3);
        assert_eq!(found, Some(types), "{name}");
    }
}

#[test]
fn operations_count_what_they_read_while_asked_to() {
    for (name, config) in families() {
        let mut runner = runner_with(&config, 3, 2, MAPPED);
        let plain = run(&mut runner, &batch(&[&prompt(20)], &[20], true)).unwrap();
        runner.start_counting();
        assert!(plain == run(&mut runner, &batch(&[&prompt(20)], &[20], true)).unwrap(), "{name}");
        let costs = runner.stop_counting();
        let calls = |op| costs.of(op).calls;
        let layers = config.layers.len() as u64;
        let tables = 1 + u64::from(config.per_layer_rows.is_some());
        assert_eq!(
            (calls(OpKind::Embedding), calls(OpKind::Attention), calls(OpKind::Head)),
            (tables, layers, 1),
            "{name}"
        );
        assert_eq!(
            costs.of(OpKind::Head).weight_bytes,
            2 * 1001 * u64::try_from(config.hidden).unwrap(),
            "{name}"
        );
        run(&mut runner, &batch(&[&prompt(20)], &[20], true)).unwrap();
        assert_eq!(runner.stop_counting().total().calls, 0, "{name}: nobody asks any more");
    }
    let config = config(true, false);
    let mut runner = runner_with(&config, 3, 1, MAPPED);
    runner.start_counting();
    run(&mut runner, &batch(&[&prompt(20)], &[20], true)).unwrap();
    let costs = runner.stop_counting();
    let layer = 160 * 400 + 240 * 160 + 3 * 160 * 488;
    assert_eq!(
        (costs.of(OpKind::Linear).calls, costs.of(OpKind::Linear).weight_bytes),
        (3 * 4, 2 * 3 * layer)
    );
    assert_eq!(costs.of(OpKind::Attention).cache_bytes % (20 * 3), 0, "twenty tokens, three layers");
}

#[test]
fn progress_counts_every_part_and_all_bytes() {
    let mut seen: Vec<(usize, usize, u64)> = Vec::new();
    let mut weights = |progress| match progress {
        EngineProgress::Weights { parts, of, bytes } => seen.push((parts, of, bytes)),
        EngineProgress::Kernels { .. } => panic!("the CPU compiles nothing"),
    };
    let options = CpuOptions { kv_cache_bytes: 1 << 20, ..SHORT };
    let runner =
        CpuRunner::new(&config(true, false), &Weights::random(1), &start(1), &options, &mut weights).unwrap();
    assert_eq!(
        seen.iter().map(|(parts, of, _)| (*parts, *of)).collect::<Vec<_>>(),
        [(1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]
    );
    let layer = 160 * 400 + 240 * 160 + 3 * 160 * 488 + 2 * 160 + 2 * 40;
    assert_eq!(seen[4].2, 2 * (1001 * 160 + 3 * layer + 160));
    assert_eq!((runner.shape().context, runner.shape().vocab, runner.shape().block_size), (100, 1001, 16));
}

#[test]
fn misordered_calls_and_oversized_batches_are_errors() {
    let options = SHORT;
    let mut runner =
        CpuRunner::new(&config(true, false), &Weights::random(1), &start(1), &options, &mut |_| {}).unwrap();
    let draws = Draws { rows: &[DRAW], ..Draws::default() };
    assert_eq!(runner.sample(&draws).unwrap_err(), RunError::Order("sample"));
    assert_eq!(runner.collect().unwrap_err(), RunError::Order("collect"));
    let refused = run(&mut runner, &batch(&[&prompt(8)], &[8], false)).unwrap_err();
    assert_eq!(refused.to_string(), "8 tokens are more than 7");
    runner.forward(&batch(&[&prompt(7)], &[7], false)).unwrap();
    let none = runner.sample(&Draws::default()).unwrap_err();
    assert_eq!(none.to_string(), "0 draws with 0 edits and 0 masks don't fit 1 rows of logits");
    runner.forward(&batch(&[&prompt(7)], &[7], false)).unwrap();
    runner.sample(&draws).unwrap();
    assert_eq!(runner.collect().unwrap().rows.len(), 1);
    assert_eq!(runner.collect().unwrap_err(), RunError::Order("collect"), "a step is collected once");
}

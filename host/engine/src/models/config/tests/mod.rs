//! Configurations as published checkpoints and transformers write them, and what is wrong with
//! others.

mod families;
mod gemma4;
mod published;
mod states;

use super::*;
use crate::models::ops::{ExpertActivation, MlaShape, QkvShape, RopeScaling, Scoring};

const SIZES: &str = r#""vocab_size": 100, "hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64, "rms_norm_eps": 1e-5"#;
const QWEN3: &str = r#""architectures": ["Qwen3ForCausalLM"], "head_dim": 6, "tie_word_embeddings": true"#;
const LLAMA: &str = r#""architectures": ["LlamaForCausalLM"]"#;
const MISTRAL: &str = r#""architectures": ["MistralForCausalLM"], "model_type": "mistral""#;
const QWEN3_MOE: &str = r#""architectures": ["Qwen3MoeForCausalLM"], "num_experts": 8, "num_experts_per_tok": 2,
    "moe_intermediate_size": 12, "norm_topk_prob": true"#;
const GPT_OSS: &str = r#""architectures": ["GptOssForCausalLM"], "num_local_experts": 4, "num_experts_per_tok": 2,
    "head_dim": 4, "sliding_window": 16"#;
const DEEPSEEK: &str = r#""architectures": ["DeepseekV3ForCausalLM"], "model_type": "kimi_k2", "n_routed_experts": 8,
    "num_experts_per_tok": 2, "moe_intermediate_size": 12, "n_shared_experts": 2, "first_k_dense_replace": 1,
    "n_group": 4, "topk_group": 2, "routed_scaling_factor": 2.5, "norm_topk_prob": true, "scoring_func": "sigmoid",
    "topk_method": "noaux_tc", "kv_lora_rank": 32, "q_lora_rank": null, "qk_nope_head_dim": 12,
    "qk_rope_head_dim": 4, "v_head_dim": 10"#;

fn parse(family: &str, rest: &str) -> Result<ModelConfig, String> {
    let text = format!("{{{SIZES}, {family}{rest}}}");
    ModelConfig::parse("config.json", text.as_bytes()).map_err(|error| error.to_string())
}

fn grouped(config: &ModelConfig) -> GroupedConfig {
    match config.layers[0].attention {
        AttentionConfig::Grouped(sizes) => sizes,
        other => panic!("{other:?}"),
    }
}

fn experts(config: &ModelConfig, layer: usize) -> ExpertsConfig {
    match &config.layers[layer].mlp {
        MlpConfig::Experts(sizes) => sizes.clone(),
        MlpConfig::Gated(_) | MlpConfig::Both(..) => panic!("layer {layer} isn't of experts alone"),
    }
}

#[test]
fn both_spellings_of_rotary_parameters_mean_the_same() {
    let new = parse(
        QWEN3,
        r#", "rope_parameters": {"rope_type": "yarn", "rope_theta": 5e5, "factor": 4.0, "original_max_position_embeddings": 16}"#,
    );
    let old = parse(
        QWEN3,
        r#", "rope_theta": 500000, "rope_scaling": {"type": "yarn", "factor": 4, "original_max_position_embeddings": 16}"#,
    );
    assert_eq!(new, old);
    let Some(RopeScaling::Yarn(yarn)) = new.unwrap().layers.remove(0).rope.scaling else { panic!("no yarn") };
    assert_eq!((yarn.factor, yarn.original_context, yarn.beta_fast), (4.0, 16.0, 32.0));
    let plain = parse(QWEN3, r#", "rope_theta": 1e6, "rope_scaling": null"#).unwrap();
    let new = r#", "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0}"#;
    assert_eq!(plain, parse(QWEN3, new).unwrap());
    assert_eq!(plain.layers[0].rope.scaling, None);
}

#[test]
fn llama_divides_hidden_by_heads_and_has_own_scaling() {
    let scaling = r#", "rope_theta": 500000.0, "rope_scaling": {"rope_type": "llama3", "factor": 8.0,
        "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 32}"#;
    let config = parse(LLAMA, scaling).unwrap();
    let shape = QkvShape { heads: 4, kv_heads: 2, head_dim: 2 };
    assert_eq!((grouped(&config).shape, grouped(&config).bias), (shape, AttentionBias::None));
    assert_eq!((grouped(&config).head_norms, grouped(&config).sinks), (false, false));
    let Some(RopeScaling::Llama3(llama)) = config.layers[0].rope.scaling.clone() else { panic!("no llama3") };
    assert_eq!((llama.factor, llama.original_context), (8.0, 32.0));
    assert_eq!(grouped(&parse(LLAMA, r#", "attention_bias": true"#).unwrap()).bias, AttentionBias::All);
}

#[test]
fn mistral_sees_a_window_where_it_has_one() {
    let windows = |rest| parse(MISTRAL, rest).unwrap().layers.iter().map(|l| l.window).collect::<Vec<_>>();
    assert_eq!(windows(r#", "sliding_window": 4096"#), [Some(4096); 2]);
    assert_eq!(windows(r#", "sliding_window": null"#), [None; 2]);
}

#[test]
fn qwen3_has_experts_where_its_configuration_says() {
    let config = parse(QWEN3_MOE, r#", "decoder_sparse_step": 1, "mlp_only_layers": [0]"#).unwrap();
    assert_eq!(config.layers[0].mlp, MlpConfig::swiglu(16));
    let sizes = experts(&config, 1);
    assert_eq!((sizes.experts, sizes.per_token, sizes.intermediate), (8, 2, 12));
    assert_eq!((sizes.scoring, grouped(&config).shape.head_dim), (Scoring::Softmax { normalize: true }, 128));
    let stepped = parse(QWEN3_MOE, r#", "decoder_sparse_step": 2"#).unwrap();
    assert_eq!(stepped.layers, config.layers);
    let newer = QWEN3_MOE.replace("\"num_experts\"", "\"num_local_experts\"");
    assert_eq!(parse(&newer, r#", "mlp_only_layers": [0]"#).unwrap(), config);
}

#[test]
fn gpt_oss_has_windows_sinks_and_clamped_experts() {
    let config = parse(GPT_OSS, "").unwrap();
    let written = r#", "layer_types": ["sliding_attention", "full_attention"], "swiglu_limit": 7.0"#;
    assert_eq!(parse(GPT_OSS, written).unwrap(), config);
    assert_eq!(config.layers.iter().map(|l| l.window).collect::<Vec<_>>(), [Some(16), None]);
    assert_eq!((grouped(&config).bias, grouped(&config).sinks), (AttentionBias::All, true));
    let sizes = experts(&config, 1);
    assert_eq!(sizes.activation, ExpertActivation::ClampedSwiGlu { alpha: 1.702, limit: 7.0 });
    assert_eq!((sizes.scoring, sizes.layout), (Scoring::SoftmaxOfChosen, ExpertLayout::Packed));
}

#[test]
fn deepseek_v3_and_kimi_have_mla_and_dense_then_moe() {
    let yarn = r#", "rope_theta": 10000, "rope_scaling": {"type": "yarn", "factor": 40, "mscale": 1.0,
        "mscale_all_dim": 1.0, "beta_fast": 32, "beta_slow": 1, "original_max_position_embeddings": 16}"#;
    let config = parse(DEEPSEEK, yarn).unwrap();
    let AttentionConfig::Latent(sizes) = config.layers[0].attention else { panic!("not latent") };
    let MlaShape { rank, nope, rope, value, .. } = sizes.shape;
    assert_eq!((rank, nope, rope, value, sizes.query_rank), (32, 12, 4, 10, None));
    let magnitude = 0.1 * 40f64.ln() + 1.0;
    assert!((f64::from(sizes.scale) - magnitude * magnitude / 4.0).abs() < 1e-6, "{}", sizes.scale);
    assert_eq!(config.cache(), [LayerCache::Latent { width: 36 }; 2]);
    assert_eq!(config.layers[0].mlp, MlpConfig::swiglu(16));
    let scoring = Scoring::Sigmoid {
        groups: 4,
        top_groups: 2,
        normalize: true,
        eps: crate::models::ops::SIGMOID_EPS,
        scale: 2.5,
    };
    assert_eq!(
        (experts(&config, 1).scoring, experts(&config, 1).shared),
        (scoring, Some(SharedExpert { intermediate: 24, gated: false }))
    );
    let by_type = DEEPSEEK.replace(r#""architectures": ["DeepseekV3ForCausalLM"], "#, "");
    assert_eq!(parse(&by_type, yarn).unwrap(), config);
}

#[test]
fn stored_formats_are_those_that_there_is_code_for() {
    let fp8 = r#", "quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 64]}"#;
    let block = Some(Quantization::Fp8 { block: (128, 64) });
    assert_eq!(parse(QWEN3, fp8).unwrap().quantization, block);
    let wide = GPT_OSS.to_owned() + r#", "hidden_size": 64, "intermediate_size": 32"#;
    let mxfp4 =
        r#", "quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}"#;
    assert_eq!(parse(&wide, mxfp4).unwrap().quantization, Some(Quantization::Mxfp4));
    for (family, rest, wanted) in [
        (GPT_OSS, mxfp4, r#""hidden_size" (8) must be a multiple of 32, the block of mxfp4"#),
        (
            LLAMA,
            mxfp4,
            r#""quantization_config.quant_method" "mxfp4" is not supported for this architecture"#,
        ),
        (GPT_OSS, fp8, r#""quantization_config.quant_method" "fp8" is not supported for this architecture"#),
        (
            LLAMA,
            r#", "quantization_config": {"quant_method": "awq"}"#,
            r#""quantization_config.quant_method" "awq" is not supported; supported: "fp8" in blocks, "mxfp4", and plain bf16, f16, f32"#,
        ),
        (
            LLAMA,
            r#", "quantization_config": {"quant_method": "fp8"}"#,
            r#""quantization_config.weight_block_size" is missing"#,
        ),
        (
            LLAMA,
            r#", "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 0]}"#,
            r#""quantization_config.weight_block_size" must be two sizes of a block, from 1 to 65536, found [128,0]"#,
        ),
    ] {
        assert_eq!(parse(family, rest).unwrap_err(), format!("config.json: {wanted}"));
    }
}

#[test]
fn what_is_wrong_is_named_in_one_line() {
    for (family, rest, wanted) in [
        (QWEN3, r#", "vocab_size": 0"#, r#""vocab_size" must be a whole number from 1 to 16777216, found 0"#),
        (
            QWEN3,
            r#", "hidden_size": "8""#,
            r#""hidden_size" must be a whole number from 1 to 262144, found "8""#,
        ),
        (
            QWEN3,
            r#", "num_key_value_heads": 3"#,
            r#""num_attention_heads" (4) must be a multiple of "num_key_value_heads" (3)"#,
        ),
        (QWEN3, r#", "head_dim": 7"#, r#""head_dim" must be even, found 7"#),
        (QWEN3, r#", "hidden_size": null"#, r#""hidden_size" is missing"#),
        (QWEN3, r#", "hidden_act": "gelu""#, r#""hidden_act" "gelu" is not supported; supported: "silu""#),
        (QWEN3, r#", "rms_norm_eps": -1"#, r#""rms_norm_eps" must be a number above zero, found -1"#),
        (
            QWEN3,
            r#", "use_sliding_window": true"#,
            r#""use_sliding_window" is not supported for this architecture"#,
        ),
        (
            QWEN3,
            r#", "rope_scaling": {"rope_type": "dynamic", "factor": 8}"#,
            r#""rope_scaling.rope_type" "dynamic" is not supported; supported: "default", "linear", "llama3", "yarn", "longrope", "proportional""#,
        ),
        (
            r#""architectures": ["Gemma2ForCausalLM"]"#,
            "",
            "architecture Gemma2ForCausalLM is not supported; supported: llama, mistral, mixtral, ministral3, qwen2, qwen2_5_vl, qwen2_5_vl_text, qwen3, qwen3_vl_text, qwen3_moe, qwen3_5_text, qwen3_5_moe_text, qwen3_next, lfm2, lfm2_moe, gemma3_text, gemma4_text, phi3, smollm3, granite, granitemoehybrid, gpt_oss, deepseek_v3, kimi_k2, glm4_moe, glm4_moe_lite",
        ),
    ] {
        assert_eq!(parse(family, rest).unwrap_err(), format!("config.json: {wanted}"));
    }
    let error = ModelConfig::parse("config.json", b"{").unwrap_err().to_string();
    assert!(error.starts_with("config.json: not JSON: "), "{error}");
}

#[test]
fn what_a_family_lacks_is_refused_by_name() {
    for (family, rest, wanted) in [
        (
            LLAMA,
            r#", "rope_scaling": {"type": "llama3", "factor": 8}"#,
            r#""rope_scaling.low_freq_factor" is missing"#,
        ),
        (
            LLAMA,
            r#", "num_attention_heads": 6"#,
            r#""hidden_size" (8) must be a multiple of "num_attention_heads" (6)"#,
        ),
        (
            LLAMA,
            r#", "partial_rotary_factor": 0.5"#,
            r#""partial_rotary_factor" must be 1, the only value supported, found 0.5"#,
        ),
        (LLAMA, r#", "mlp_bias": true"#, r#""mlp_bias" is not supported for this architecture"#),
        (
            MISTRAL,
            r#", "layer_types": ["sliding_attention"]"#,
            r#""layer_types" must be "full_attention" for every layer, found "sliding_attention""#,
        ),
        (
            QWEN3_MOE,
            r#", "num_experts_per_tok": 9"#,
            r#""num_experts_per_tok" must be a whole number from 1 to 8, found 9"#,
        ),
        (
            QWEN3_MOE,
            r#", "mlp_only_layers": [-1]"#,
            r#""mlp_only_layers" must be a list of whole numbers below 65536, found [-1]"#,
        ),
        (
            GPT_OSS,
            r#", "layer_types": ["full_attention"]"#,
            r#""layer_types" must be 2 of "full_attention" and "sliding_attention", found ["full_attention"]"#,
        ),
        (
            DEEPSEEK,
            r#", "scoring_func": "softmax""#,
            r#""scoring_func" "softmax" is not supported; supported: "sigmoid""#,
        ),
        (
            DEEPSEEK,
            r#", "topk_method": "greedy""#,
            r#""topk_method" "greedy" is not supported; supported: "noaux_tc""#,
        ),
        (
            DEEPSEEK,
            r#", "rope_interleave": false"#,
            r#""rope_interleave" false is not supported; supported: true"#,
        ),
        (
            DEEPSEEK,
            r#", "moe_layer_freq": 2"#,
            r#""moe_layer_freq" must be 1, the only value supported, found 2"#,
        ),
        (DEEPSEEK, r#", "n_group": 3"#, r#""n_routed_experts" (8) must be a multiple of "n_group" (3)"#),
        (
            DEEPSEEK,
            r#", "topk_group": 1, "num_experts_per_tok": 3"#,
            r#""topk_group" (1) leaves 2 experts of 3 "num_experts_per_tok""#,
        ),
        (DEEPSEEK, r#", "qk_rope_head_dim": 5"#, r#""qk_rope_head_dim" must be even, found 5"#),
    ] {
        assert_eq!(parse(family, rest).unwrap_err(), format!("config.json: {wanted}"));
    }
}

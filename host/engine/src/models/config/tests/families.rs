//! What the younger families read: what sets each apart, and what it refuses.

use super::*;
use crate::models::ops::{GateActivation, QueryScaling, RopeSpec};

const QWEN2: &str = r#""architectures": ["Qwen2ForCausalLM"], "max_window_layers": 1"#;
const SMOLLM3: &str = r#""architectures": ["SmolLM3ForCausalLM"]"#;
const GRANITE: &str = r#""architectures": ["GraniteForCausalLM"], "embedding_multiplier": 12, "logits_scaling": 8.0,
    "residual_multiplier": 0.22, "attention_multiplier": 0.0078125"#;
const HYBRID: &str = r#""architectures": ["GraniteMoeHybridForCausalLM"], "num_local_experts": 0,
    "shared_intermediate_size": 24, "layer_types": ["attention", "attention"]"#;
const MINISTRAL: &str = r#""model_type": "ministral3", "head_dim": 4, "rope_parameters": {"rope_type": "yarn",
    "rope_theta": 1e6, "factor": 4.0, "original_max_position_embeddings": 16, "llama_4_scaling_beta": 0.1}"#;
const GLM_MOE: &str = r#""architectures": ["Glm4MoeForCausalLM"], "head_dim": 8, "attention_bias": true,
    "n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 12, "n_shared_experts": 1"#;
const GLM_LITE: &str = r#""model_type": "glm4_moe_lite", "n_routed_experts": 8, "num_experts_per_tok": 2,
    "moe_intermediate_size": 12, "kv_lora_rank": 32, "q_lora_rank": 24, "qk_nope_head_dim": 12, "qk_rope_head_dim": 4,
    "v_head_dim": 16, "topk_method": "noaux_tc""#;
const PHI: &str = r#""architectures": ["Phi3ForCausalLM"], "hidden_size": 32, "partial_rotary_factor": 0.5,
    "original_max_position_embeddings": 16, "sliding_window": 32"#;
const LONGROPE: &str =
    r#", "rope_scaling": {"type": "longrope", "short_factor": [1.0, 2.0], "long_factor": [3.0, 4.0]}"#;
const GEMMA: &str = r#""architectures": ["Gemma3ForCausalLM"], "head_dim": 4, "query_pre_attn_scalar": 16,
    "sliding_window": 8, "hidden_activation": "gelu_pytorch_tanh""#;

fn ropes(config: &ModelConfig) -> Vec<&RopeSpec> {
    config.layers.iter().map(|layer| &layer.rope).collect()
}

fn windows(config: &ModelConfig) -> Vec<Option<usize>> {
    config.layers.iter().map(|layer| layer.window).collect()
}

fn gated(config: &ModelConfig) -> GatedConfig {
    match config.layers[0].mlp {
        MlpConfig::Gated(sizes) => sizes,
        MlpConfig::Experts(_) | MlpConfig::Both(..) => panic!("no dense layer"),
    }
}

#[test]
fn qwen2_has_biases_on_qkv_and_windows_if_asked() {
    let config = parse(QWEN2, r#", "sliding_window": 20"#).unwrap();
    assert_eq!((grouped(&config).bias, windows(&config)), (AttentionBias::Qkv, vec![None, None]));
    let asked = parse(QWEN2, r#", "sliding_window": 20, "use_sliding_window": true"#).unwrap();
    assert_eq!(windows(&asked), [None, Some(20)]);
    let vision = QWEN2.replace("Qwen2ForCausalLM", "Qwen2_5_VLForConditionalGeneration");
    let flat = r#", "rope_scaling": {"type": "mrope", "mrope_section": [1]}, "vision_config": {"depth": 32}"#;
    assert_eq!(parse(&vision, flat).unwrap(), parse(QWEN2, "").unwrap());
}

#[test]
fn smollm3_layers_without_rope_have_no_rotated_part() {
    let rotated =
        |rest| ropes(&parse(SMOLLM3, rest).unwrap()).iter().map(|rope| rope.rotated).collect::<Vec<_>>();
    assert_eq!(rotated(r#", "no_rope_layers": [0, 1]"#), [0, 2]);
    assert_eq!(rotated(r#", "no_rope_layer_interval": 2"#), [2, 0]);
    assert_eq!(rotated(""), [2, 2]);
}

#[test]
fn granite_has_four_factors() {
    let config = parse(GRANITE, "").unwrap();
    assert_eq!(config.factors, Factors { embedding: 12.0, residual: 0.22, logits: 0.125 });
    assert_eq!(grouped(&config).scale.to_bits(), 0.007_812_5_f32.to_bits());
    let hybrid = parse(HYBRID, r#", "position_embedding_type": "rope""#).unwrap();
    assert_eq!((gated(&hybrid).intermediate, gated(&hybrid).layout), (24, GatedLayout::SharedExpert));
    assert_eq!((hybrid.factors, ropes(&hybrid)[0].rotated), (Factors::NONE, 2));
    assert_eq!(ropes(&parse(HYBRID, "").unwrap())[1].rotated, 0);
}

#[test]
fn ministral3_scales_queries_by_position() {
    let config = parse(MINISTRAL, "").unwrap();
    assert_eq!(ropes(&config)[1].query_scaling, Some(QueryScaling { beta: 0.1, original: 16 }));
    assert_eq!(config.layers[0].rope.table(64).query_scaling, ropes(&config)[0].query_scaling);
}

#[test]
fn glm_rotates_half_of_each_head() {
    let config = parse(GLM_MOE, "").unwrap();
    assert_eq!((ropes(&config)[0].rotated, grouped(&config).bias), (4, AttentionBias::Qkv));
    assert_eq!(
        (config.layers[0].mlp.clone(), experts(&config, 1).shared),
        (MlpConfig::swiglu(16), Some(SharedExpert { intermediate: 12, gated: false }))
    );
    let quarter = r#", "rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.25}"#;
    assert_eq!(ropes(&parse(GLM_MOE, quarter).unwrap())[0].rotated, 2);
}

#[test]
fn glm_lite_has_deepseeks_layers_by_their_kinds() {
    let config = parse(GLM_LITE, "").unwrap();
    assert_eq!(config.cache(), [LayerCache::Latent { width: 36 }; 2]);
    let kinds = parse(GLM_LITE, r#", "mlp_layer_types": ["sparse", "dense"]"#).unwrap();
    assert_eq!((experts(&kinds, 0), experts(&config, 1)), (experts(&config, 1), experts(&kinds, 0)));
    assert_eq!(kinds.layers[1].mlp, MlpConfig::swiglu(16));
}

#[test]
fn phi_takes_the_factors_of_the_context_served() {
    let config = parse(PHI, LONGROPE).unwrap();
    assert_eq!(
        (grouped(&config).layout, gated(&config).layout),
        (ProjectionLayout::Fused, GatedLayout::Fused)
    );
    let (short, long) = (config.layers[0].rope.table(16), config.layers[0].rope.table(17));
    assert_eq!((short.frequencies, long.frequencies), (vec![1.0, 0.005], vec![1.0 / 3.0, 0.0025]));
    // √(1 + ln 4 / ln 16)
    assert_eq!((short.factor.to_bits(), long.factor), (1.5f32.sqrt().to_bits(), short.factor));
}

#[test]
fn gemma3_has_norms_behind_parts_and_two_ropes() {
    let spaced = r#", "num_hidden_layers": 6, "rope_theta": 1e6, "rope_scaling": {"rope_type": "linear", "factor": 8}"#;
    let config = parse(GEMMA, spaced).unwrap();
    assert_eq!(windows(&config), [Some(8), Some(8), Some(8), Some(8), Some(8), None]);
    let full = RopeSpec { scaling: Some(RopeScaling::Linear(8.0)), ..RopeSpec::plain(4, 1e6) };
    assert_eq!((ropes(&config)[0], ropes(&config)[5]), (&RopeSpec::plain(4, 1e4), &full));
    let sizes = grouped(&config);
    assert_eq!((sizes.scale.to_bits(), sizes.head_norms, sizes.post_norm), (0.25f32.to_bits(), true, true));
    assert_eq!((gated(&config).activation, gated(&config).post_norm), (GateActivation::GeluTanh, true));
    assert_eq!((config.norm_offset.to_bits(), config.tied), (1f32.to_bits(), true));
    // √8 in bf16.
    assert_eq!(config.factors, Factors { embedding: 2.828_125, ..Factors::NONE });
    let nested = r#", "num_hidden_layers": 6, "rope_parameters": {"sliding_attention": {"rope_theta": 1e4},
        "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6}}"#;
    assert_eq!(parse(GEMMA, nested).unwrap(), config);
}

#[test]
fn text_within_a_larger_model_is_read() {
    let text = r#"{"architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3", "torch_dtype": "float32",
        "text_config": {"model_type": "gemma3_text", "hidden_size": 9, "intermediate_size": 16, "num_hidden_layers": 7}}"#;
    let config = ModelConfig::parse("config.json", text.as_bytes()).unwrap();
    assert_eq!((config.vocab, config.context, config.factors.embedding), (262_208, 131_072, 3.0));
    assert_eq!(grouped(&config).shape, QkvShape { heads: 8, kv_heads: 4, head_dim: 256 });
    let text = text.replace(r#""hidden_size": 9, "#, r#""hidden_size": 0, "#);
    let error = ModelConfig::parse("config.json", text.as_bytes()).unwrap_err().to_string();
    assert!(error.starts_with(r#"config.json: "text_config.hidden_size" must be"#), "{error}");
}

#[test]
fn what_younger_families_lack_is_refused_by_name() {
    for (family, rest, wanted) in [
        (SMOLLM3, r#", "no_rope_layers": [1, 2]"#, r#""no_rope_layers" must be 2 of 0 and 1, found [1,2]"#),
        (
            HYBRID,
            r#", "layer_types": ["mamba", "attention"]"#,
            r#""layer_types" must be 2 of "attention", found ["mamba","attention"]"#,
        ),
        (
            HYBRID,
            r#", "num_local_experts": 8"#,
            r#""num_local_experts" must be 0, the only value supported, found 8"#,
        ),
        (
            GLM_LITE,
            r#", "mlp_layer_types": ["dense"]"#,
            r#""mlp_layer_types" must be 2 of "dense" and "sparse", found ["dense"]"#,
        ),
        (
            PHI,
            r#", "rope_scaling": {"type": "longrope", "short_factor": [1.0], "long_factor": [3.0, 4.0]}"#,
            r#""rope_scaling.short_factor" must be 2 numbers above zero, found [1.0]"#,
        ),
        (
            GLM_MOE,
            r#", "partial_rotary_factor": 0.4"#,
            r#""partial_rotary_factor" (0.4) must rotate an even number of a head's 8 dimensions"#,
        ),
        (
            GEMMA,
            r#", "final_logit_softcapping": 30.0"#,
            r#""final_logit_softcapping" must be null, the only value supported, found 30.0"#,
        ),
        (
            GEMMA,
            r#", "use_bidirectional_attention": true"#,
            r#""use_bidirectional_attention" is not supported for this architecture"#,
        ),
    ] {
        assert_eq!(parse(family, rest).unwrap_err(), format!("config.json: {wanted}"));
    }
}

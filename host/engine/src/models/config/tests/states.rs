//! What families read whose layers keep states.

use super::*;
use crate::models::ops::{DeltaLayout, DeltaShape, HeadPairing, ShortConvShape};

const QWEN35: &str = r#""architectures": ["Qwen3_5ForCausalLM"], "head_dim": 8, "linear_num_key_heads": 2,
    "linear_num_value_heads": 4, "linear_key_head_dim": 6, "linear_value_head_dim": 10"#;
const NEXT: &str = r#""model_type": "qwen3_next", "head_dim": 8, "num_experts": 4, "num_experts_per_tok": 2,
    "moe_intermediate_size": 12, "shared_expert_intermediate_size": 20, "mlp_only_layers": [0]"#;

fn has_states(config: &ModelConfig) -> Vec<bool> {
    config.layers.iter().map(|layer| matches!(layer.attention, AttentionConfig::Delta(_))).collect()
}

#[test]
fn qwen35_has_attention_in_some_layers_and_states_in_others() {
    let config = parse(QWEN35, r#", "num_hidden_layers": 4"#).unwrap();
    assert_eq!(has_states(&config), [true, true, true, false]);
    let shape = DeltaShape {
        key_heads: 2,
        value_heads: 4,
        key_dim: 6,
        value_dim: 10,
        taps: 4,
        layout: DeltaLayout::Whole,
        pairing: HeadPairing::Neighbours,
    };
    assert_eq!(config.states(), Some((StateShape::Delta(shape), 3)));
    assert_eq!(config.cache(), [LayerCache::Full { kv_heads: 2, head_dim: 8 }]);
    assert_eq!((config.norm_offset, config.layers[3].rope.rotated), (1.0, 2), "a quarter of a head");
    let AttentionConfig::Grouped(attention) = config.layers[3].attention else { panic!("no attention") };
    assert_eq!((attention.layout, attention.head_norms), (ProjectionLayout::WithGates, true));
    let every = r#", "num_hidden_layers": 4, "full_attention_interval": 2"#;
    assert_eq!(has_states(&parse(QWEN35, every).unwrap()), [true, false, true, false]);
    let listed = r#", "layer_types": ["full_attention", "linear_attention"]"#;
    assert_eq!(has_states(&parse(QWEN35, listed).unwrap()), [false, true]);
    assert_eq!(parse(QWEN3, "").unwrap().states(), None);
}

#[test]
fn qwen3_next_stores_projections_by_heads_and_gates_an_expert() {
    let config = parse(NEXT, r#", "full_attention_interval": 2"#).unwrap();
    let Some((StateShape::Delta(shape), 1)) = config.states() else { panic!("{:?}", config.states()) };
    assert_eq!(shape.layout, DeltaLayout::ByKeyHead);
    assert_eq!(config.layers[0].mlp, MlpConfig::swiglu(16));
    let sizes = experts(&config, 1);
    assert_eq!(sizes.shared, Some(SharedExpert { intermediate: 20, gated: true }));
    assert_eq!(sizes.scoring, Scoring::Softmax { normalize: true });
}

const LFM2: &str = r#""model_type": "lfm2", "intermediate_size": 100, "block_multiple_of": 8"#;
const LFM2_MOE: &str = r#""model_type": "lfm2_moe", "num_experts": 4, "num_experts_per_tok": 2,
    "moe_intermediate_size": 12, "num_dense_layers": 1, "layer_types": ["conv", "full_attention"]"#;

#[test]
fn lfm2_convolves_in_layers_without_attention() {
    let config = parse(LFM2, r#", "full_attn_idxs": [1], "conv_bias": true, "conv_L_cache": 5"#).unwrap();
    let shape = ShortConvShape { channels: 8, taps: 5 };
    let conv = AttentionConfig::ShortConv(ShortConvConfig { shape, bias: true });
    assert_eq!(
        (config.layers[0].attention, config.states()),
        (conv, Some((StateShape::ShortConv(shape), 1)))
    );
    assert_eq!(config.cache(), [LayerCache::Full { kv_heads: 2, head_dim: 2 }]);
    assert_eq!((config.tied, config.rms_norm_eps), (true, 1e-5));
    assert!((config.layers[1].rope.theta - 1e6).abs() < 1.0);
    assert_eq!(parse(LFM2, "").unwrap().states(), None, "all layers have attention");
}

#[test]
fn lfm2_widths_are_adjusted_unless_they_say_otherwise() {
    for (rest, width) in [
        ("", 72),
        (r#", "block_ffn_dim_multiplier": 1.5"#, 104),
        (r#", "block_auto_adjust_ff_dim": false"#, 100),
        (r#", "block_ff_dim": 60"#, 40),
    ] {
        assert_eq!(parse(LFM2, rest).unwrap().layers[0].mlp, MlpConfig::swiglu(width), "{rest}");
    }
    let error = parse(LFM2, r#", "block_ffn_dim_multiplier": 1e9"#).unwrap_err();
    assert!(
        error.ends_with(r#""block_ffn_dim_multiplier" makes feed-forward layers 66000000000 wide"#),
        "{error}"
    );
}

#[test]
fn lfm2_experts_are_scored_by_sigmoids() {
    let config = parse(LFM2_MOE, r#", "routed_scaling_factor": 2.5"#).unwrap();
    assert_eq!(config.layers[0].mlp, MlpConfig::swiglu(16));
    let sizes = experts(&config, 1);
    let scoring = Scoring::Sigmoid { groups: 1, top_groups: 1, normalize: true, eps: 1e-6, scale: 2.5 };
    assert_eq!((sizes.scoring, sizes.layout), (scoring, ExpertLayout::Separate { correction: true }));
}

#[test]
fn what_states_lack_is_named_in_one_line() {
    for (rest, wanted) in [
        (
            r#", "linear_num_key_heads": 3"#,
            r#""linear_num_value_heads" (4) must be a multiple of "linear_num_key_heads" (3)"#,
        ),
        (
            r#", "layer_types": ["linear_attention", "sliding_attention"]"#,
            r#""layer_types" must be 2 of "linear_attention" and "full_attention", found ["linear_attention","sliding_attention"]"#,
        ),
        ("", r#""layer_types" must have a "full_attention""#),
        (
            r#", "num_hidden_layers": 4, "attention_bias": true"#,
            r#""attention_bias" true is not supported for this architecture"#,
        ),
    ] {
        assert_eq!(parse(QWEN35, rest).unwrap_err(), format!("config.json: {wanted}"));
    }
}

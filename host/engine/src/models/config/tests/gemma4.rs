//! What Gemma 4's configurations say, in their published form and in that of transformers 5.

use super::*;
use crate::models::ops::{GateActivation, RopeSpec};

const GEMMA4: &str = r#""architectures": ["Gemma4ForCausalLM"], "head_dim": 4, "global_head_dim": 8, "sliding_window": 8,
    "final_logit_softcapping": 30.0"#;
const SMALL: &str = r#", "num_hidden_layers": 5, "num_kv_shared_layers": 2, "use_double_wide_mlp": true,
    "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "sliding_attention", "full_attention"],
    "hidden_size_per_layer_input": 3, "vocab_size_per_layer_input": 120"#;
const LARGE: &str =
    r#", "hidden_size_per_layer_input": 0, "attention_k_eq_v": true, "num_global_key_value_heads": 1"#;
const EXPERTS: &str = r#", "hidden_size_per_layer_input": 0, "enable_moe_block": true, "num_experts": 6, "top_k_experts": 2,
    "moe_intermediate_size": 5"#;

fn sizes(config: &ModelConfig, layer: usize) -> GroupedConfig {
    match config.layers[layer].attention {
        AttentionConfig::Grouped(sizes) => sizes,
        other => panic!("{other:?}"),
    }
}

#[test]
fn last_layers_share_keys_and_are_twice_as_wide() {
    let config = parse(GEMMA4, SMALL).unwrap();
    let layouts: Vec<_> = (0..5).map(|layer| sizes(&config, layer).layout).collect();
    let (own, of) = (ProjectionLayout::Separate, |keys_of| ProjectionLayout::Queries { keys_of });
    assert_eq!(layouts, [own, own, own, of(2), of(1)]);
    let window = LayerCache::Window { kv_heads: 2, head_dim: 4, window: 8 };
    assert_eq!(config.cache(), [window, LayerCache::Full { kv_heads: 2, head_dim: 8 }, window]);
    let widths = config.layers.iter().map(|layer| layer.mlp.gated().unwrap().intermediate);
    assert_eq!(widths.collect::<Vec<_>>(), [16, 16, 16, 32, 32]);
    // √3 in bf16.
    assert_eq!(config.per_layer_rows, Some(PerLayerRows { width: 3, tokens: 120, factor: 1.734_375 }));
    assert_eq!((config.logit_cap, config.layer_factors, config.norm_offset.to_bits()), (Some(30.0), true, 0));
}

#[test]
fn layers_that_see_all_tokens_have_their_own_heads() {
    let config = parse(GEMMA4, LARGE).unwrap();
    let (first, last) = (sizes(&config, 0), sizes(&config, 1));
    assert_eq!(first.shape, QkvShape { heads: 4, kv_heads: 2, head_dim: 4 });
    assert_eq!(last.shape, QkvShape { heads: 4, kv_heads: 1, head_dim: 8 });
    assert_eq!((first.layout, last.layout), (ProjectionLayout::Separate, ProjectionLayout::KeysAsValues));
    assert_eq!((last.scale.to_bits(), last.value_norms), (1f32.to_bits(), true));
    assert_eq!(config.layers[0].rope, RopeSpec::plain(4, 1e4));
    let RopeSpec { rotated, ref scaling, .. } = config.layers[1].rope;
    assert_eq!((rotated, scaling), (8, &Some(RopeScaling::Proportional { pairs: 1, factor: 1.0 })));
    assert_eq!(config.layers[1].rope.table(64).frequencies, [1.0, 0.0, 0.0, 0.0]);
    let newer = GEMMA4.replace(
        r#""global_head_dim": 8"#,
        r#""per_layer_config": {"1": {"head_dim": 8, "num_key_value_heads": 1}}, "rope_parameters": {
            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
            "full_attention": {"rope_type": "proportional", "rope_theta": 1000000.0, "partial_rotary_factor": 0.25}}"#,
    );
    assert_eq!(parse(&newer, LARGE).unwrap(), config);
}

#[test]
fn experts_stand_beside_dense_parts() {
    let config = parse(GEMMA4, EXPERTS).unwrap();
    let MlpConfig::Both(dense, experts) = &config.layers[1].mlp else { panic!("no experts") };
    assert_eq!((dense.intermediate, dense.activation), (16, GateActivation::GeluTanh));
    assert_eq!((experts.experts, experts.per_token, experts.intermediate), (6, 2, 5));
    assert_eq!(experts.activation, ExpertActivation::GeGlu);
}

#[test]
fn what_gemma4_lacks_is_refused_by_name() {
    for (rest, wanted) in [
        (
            r#", "use_bidirectional_attention": "all""#,
            r#""use_bidirectional_attention" "all" is not supported; supported: "vision""#,
        ),
        (r#", "attention_bias": true"#, r#""attention_bias" is not supported for this architecture"#),
        (r#", "num_kv_shared_layers": 1"#, "layer 1 has no layer of its kind whose keys it could share"),
        (
            r#", "vocab_size_per_layer_input": 99"#,
            r#""vocab_size_per_layer_input" must be a whole number from 100 to 16777216, found 99"#,
        ),
    ] {
        assert_eq!(parse(GEMMA4, rest).unwrap_err(), format!("config.json: {wanted}"));
    }
}

/// The fields of the published configurations that matter.
#[test]
fn published_gemma4_configurations_are_read() {
    let text = r#"{"architectures": ["Gemma4ForConditionalGeneration"], "model_type": "gemma4", "dtype": "bfloat16",
        "vision_config": {"model_type": "gemma4_vision"}, "audio_config": null, "text_config": {"model_type": "gemma4_text",
        "hidden_size": 1536, "intermediate_size": 6144, "num_hidden_layers": 35, "num_attention_heads": 8,
        "num_key_value_heads": 1, "num_global_key_value_heads": null, "head_dim": 256, "global_head_dim": 512,
        "num_kv_shared_layers": 20, "use_double_wide_mlp": true, "sliding_window": 512, "attention_k_eq_v": false,
        "final_logit_softcapping": 30.0, "use_bidirectional_attention": null, "layer_types": LAYERS}}"#;
    let kind =
        |layer: usize| if (layer + 1).is_multiple_of(5) { "full_attention" } else { "sliding_attention" };
    let kinds: Vec<&str> = (0..35).map(kind).collect();
    let text = text.replace("LAYERS", &serde_json::to_string(&kinds).unwrap());
    let config = ModelConfig::parse("config.json", text.as_bytes()).unwrap();
    assert_eq!((config.vocab, config.context, config.cache().len()), (262_144, 131_072, 15));
    assert_eq!(config.per_layer_rows, Some(PerLayerRows { width: 256, tokens: 262_144, factor: 16.0 }));
    assert_eq!(sizes(&config, 34).layout, ProjectionLayout::Queries { keys_of: 14 });
    assert_eq!(config.layers[14].rope.table(1).frequencies.iter().filter(|of| **of > 0.0).count(), 64);
}

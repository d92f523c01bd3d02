//! Configurations of published checkpoints.

use super::*;

const FP8: &str = r#""quantization_config": {"activation_scheme": "dynamic", "fmt": "e4m3", "quant_method": "fp8", "weight_block_size": [128, 128]}"#;

/// The fields of published configurations that matter, and what is read from them: number of
/// layers, first layer's cache, experts.
#[test]
fn published_configurations_are_read() {
    for (text, layers, cached, experts) in [
        (
            r#""architectures": ["LlamaForCausalLM"], "attention_bias": false, "hidden_act": "silu", "hidden_size": 4096,
            "intermediate_size": 14336, "max_position_embeddings": 131072, "mlp_bias": false, "model_type": "llama",
            "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "pretraining_tp": 1,
            "rms_norm_eps": 1e-05, "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192, "rope_type": "llama3"}, "rope_theta": 500000.0,
            "tie_word_embeddings": false, "vocab_size": 128256"#.to_owned(),
            32,
            LayerCache::Full { kv_heads: 8, head_dim: 128 },
            0,
        ),
        (
            r#""architectures": ["MistralForCausalLM"], "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 14336,
            "max_position_embeddings": 32768, "model_type": "mistral", "num_attention_heads": 32, "num_hidden_layers": 32,
            "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "sliding_window": 4096,
            "tie_word_embeddings": false, "vocab_size": 32000"#.to_owned(),
            32,
            LayerCache::Window { kv_heads: 8, head_dim: 128, window: 4096 },
            0,
        ),
        (
            r#""architectures": ["MixtralForCausalLM"], "attention_dropout": 0.0, "hidden_act": "silu", "hidden_size": 4096,
            "intermediate_size": 14336, "max_position_embeddings": 32768, "model_type": "mixtral", "num_attention_heads": 32,
            "num_experts_per_tok": 2, "num_hidden_layers": 32, "num_key_value_heads": 8, "num_local_experts": 8,
            "output_router_logits": false, "rms_norm_eps": 1e-05, "rope_theta": 1000000.0, "sliding_window": null,
            "tie_word_embeddings": false, "vocab_size": 32000"#.to_owned(),
            32,
            LayerCache::Full { kv_heads: 8, head_dim: 128 },
            8,
        ),
        (
            r#""architectures": ["Qwen3MoeForCausalLM"], "attention_bias": false, "decoder_sparse_step": 1, "head_dim": 128,
            "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 6144, "max_position_embeddings": 40960,
            "max_window_layers": 48, "mlp_only_layers": [], "model_type": "qwen3_moe", "moe_intermediate_size": 768,
            "norm_topk_prob": true, "num_attention_heads": 32, "num_experts": 128, "num_experts_per_tok": 8,
            "num_hidden_layers": 48, "num_key_value_heads": 4, "rms_norm_eps": 1e-06, "rope_scaling": null,
            "rope_theta": 1000000.0, "sliding_window": null, "tie_word_embeddings": false, "use_sliding_window": false,
            "vocab_size": 151936, "#.to_owned() + FP8,
            48,
            LayerCache::Full { kv_heads: 4, head_dim: 128 },
            128,
        ),
        (
            r#""architectures": ["DeepseekV3ForCausalLM"], "attention_bias": false, "aux_loss_alpha": 0.001, "ep_size": 1,
            "first_k_dense_replace": 1, "hidden_act": "silu", "hidden_size": 7168, "intermediate_size": 18432,
            "kv_lora_rank": 512, "max_position_embeddings": 131072, "model_type": "kimi_k2", "moe_intermediate_size": 2048,
            "moe_layer_freq": 1, "n_group": 1, "n_routed_experts": 384, "n_shared_experts": 1, "norm_topk_prob": true,
            "num_attention_heads": 64, "num_experts_per_tok": 8, "num_hidden_layers": 61, "num_key_value_heads": 64,
            "num_nextn_predict_layers": 0, "pretraining_tp": 1, "q_lora_rank": 1536, "qk_nope_head_dim": 128,
            "qk_rope_head_dim": 64, "rms_norm_eps": 1e-06, "rope_theta": 50000.0, "routed_scaling_factor": 2.827,
            "rope_scaling": {"beta_fast": 1.0, "beta_slow": 1.0, "factor": 32.0, "mscale": 1.0, "mscale_all_dim": 1.0,
            "original_max_position_embeddings": 4096, "type": "yarn"}, "scoring_func": "sigmoid", "seq_aux": true,
            "tie_word_embeddings": false, "topk_group": 1, "topk_method": "noaux_tc", "v_head_dim": 128,
            "vocab_size": 163840, "#.to_owned() + FP8,
            61,
            LayerCache::Latent { width: 576 },
            384,
        ),
    ] {
        check(&text, layers, cached, experts);
    }
}

#[test]
fn published_younger_configurations_are_read() {
    let ones = [1.0; 48];
    for (text, layers, cached, experts) in [
        (
            r#""architectures": ["Qwen2ForCausalLM"], "hidden_act": "silu", "hidden_size": 3584, "intermediate_size": 18944,
            "max_position_embeddings": 32768, "max_window_layers": 28, "model_type": "qwen2", "num_attention_heads": 28,
            "num_hidden_layers": 28, "num_key_value_heads": 4, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0,
            "sliding_window": 131072, "tie_word_embeddings": false, "use_sliding_window": false, "vocab_size": 152064"#.to_owned(),
            28,
            LayerCache::Full { kv_heads: 4, head_dim: 128 },
            0,
        ),
        (
            r#""architectures": ["Phi3ForCausalLM"], "attention_bias": false, "hidden_act": "silu", "hidden_size": 3072,
            "intermediate_size": 8192, "max_position_embeddings": 131072, "model_type": "phi3", "num_attention_heads": 24,
            "num_hidden_layers": 32, "num_key_value_heads": 8, "original_max_position_embeddings": 4096,
            "partial_rotary_factor": 0.75, "rms_norm_eps": 1e-05, "rope_theta": 10000.0, "sliding_window": 262144,
            "tie_word_embeddings": true, "vocab_size": 200064, "rope_scaling": {"type": "longrope", "long_factor": "#.to_owned()
                + &format!("{ones:?}, \"short_factor\": {ones:?}}}"),
            32,
            LayerCache::Window { kv_heads: 8, head_dim: 128, window: 262_144 },
            0,
        ),
        (
            r#""architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3", "torch_dtype": "bfloat16",
            "mm_tokens_per_image": 256, "text_config": {"hidden_size": 2560, "intermediate_size": 10240,
            "model_type": "gemma3_text", "num_hidden_layers": 34, "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
            "sliding_window": 1024}, "vision_config": {"hidden_size": 1152, "model_type": "siglip_vision_model"}"#.to_owned(),
            34,
            LayerCache::Window { kv_heads: 4, head_dim: 256, window: 1024 },
            0,
        ),
        (
            r#""architectures": ["Glm4MoeForCausalLM"], "attention_bias": true, "first_k_dense_replace": 1, "head_dim": 128,
            "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 10944, "max_position_embeddings": 131072,
            "model_type": "glm4_moe", "moe_intermediate_size": 1408, "n_group": 1, "n_routed_experts": 128,
            "n_shared_experts": 1, "norm_topk_prob": true, "num_attention_heads": 96, "num_experts_per_tok": 8,
            "num_hidden_layers": 46, "num_key_value_heads": 8, "num_nextn_predict_layers": 1, "partial_rotary_factor": 0.5,
            "rms_norm_eps": 1e-05, "rope_scaling": null, "rope_theta": 1000000, "routed_scaling_factor": 1.0,
            "tie_word_embeddings": false, "topk_group": 1, "use_qk_norm": false, "vocab_size": 151552, "#.to_owned() + FP8,
            46,
            LayerCache::Full { kv_heads: 8, head_dim: 128 },
            128,
        ),
    ] {
        check(&text, layers, cached, experts);
    }
}

fn check(text: &str, layers: usize, cached: LayerCache, experts: usize) {
    let config = ModelConfig::parse("config.json", format!("{{{text}}}").as_bytes()).unwrap();
    let last = config.layers[layers - 1].mlp.experts().map_or(0, |experts| experts.experts);
    assert_eq!((config.layers.len(), config.cache()[0], last), (layers, cached, experts));
    assert_eq!(config.quantization.is_some(), text.contains("quantization_config"));
}

"""Tiny random models of Gemma 4: its small, large and mixture kinds.

Made with torch 2.15.0 and transformers 5.24.0, by `make_models.py`.
"""
import families

PROPORTIONAL = {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1e6}
GEMMA4 = families.family(
    "Gemma4", part="Text", head_dim=16, global_head_dim=32, num_attention_heads=2, num_key_value_heads=1,
    sliding_window=16, tie_word_embeddings=True, final_logit_softcapping=30.0, hidden_size_per_layer_input=0,
    rope_theta=None,
) | {"weights": {"embedding": 0.05}}
VISION = {
    "model_type": "gemma4_vision", "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1,
    "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 8, "patch_size": 4, "position_embedding_size": 16,
}

# name -> (family, what differs)
MODELS = {
    # As E2B and E4B are: within a model that also sees, rows for each layer, last layers that share keys and values and
    # are twice as wide.
    "gemma4-small-bf16": (families.with_vision("Gemma4", GEMMA4, VISION), {
        "dtype": "bfloat16", "seed": 181, "published": True,
        "rope_parameters": families.local_and_global(1e4, PROPORTIONAL),
        "config": {
            "num_hidden_layers": 8, "num_kv_shared_layers": 4, "use_double_wide_mlp": True, "num_attention_heads": 4,
            "layer_types": (["sliding_attention"] * 3 + ["full_attention"]) * 2, "head_dim": 8, "global_head_dim": 16,
            "intermediate_size": 32, "hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": 131,
        },
    }),
    # As 31B is: keys are values in layers that see all tokens, which have fewer heads; another bound, an own head.
    "gemma4-large-bf16": (GEMMA4, {
        "dtype": "bfloat16", "seed": 182,
        "rope_parameters": families.local_and_global(500.0, PROPORTIONAL),
        "config": {
            "num_hidden_layers": 3, "layer_types": ["sliding_attention", "full_attention", "full_attention"],
            "attention_k_eq_v": True, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 12,
            "num_global_key_value_heads": 1, "global_head_dim": 20, "final_logit_softcapping": 3.0,
            "tie_word_embeddings": False, "sliding_window": 40,
        },
    }),
    # As 26B-A4B is: experts beside dense parts.
    "gemma4-experts-bf16": (GEMMA4, {
        "dtype": "bfloat16", "seed": 183, "published": True,
        "rope_parameters": families.local_and_global(1e4, PROPORTIONAL),
        "config": {
            "num_hidden_layers": 2, "layer_types": ["sliding_attention", "full_attention"], "attention_k_eq_v": True,
            "num_key_value_heads": 2, "num_global_key_value_heads": 1, "enable_moe_block": True, "num_experts": 6,
            "top_k_experts": 2, "moe_intermediate_size": 20,
        },
    }),
}

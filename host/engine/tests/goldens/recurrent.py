"""Tiny random models whose layers keep states: Qwen3.5, dense and with experts, Qwen3-Next, LFM2, dense and with
experts.

Made with torch 2.15.0 and transformers 5.24.0, by `make_models.py`.
"""
import families
import packed

VISION = {
    "hidden_size": 16, "intermediate_size": 16, "depth": 1, "num_heads": 2, "out_hidden_size": 32, "patch_size": 4,
    "num_position_embeddings": 16,
}


def family(name, part="", **base):
    sizes = {
        "head_dim": 16, "num_hidden_layers": 4, "linear_num_key_heads": 2, "linear_num_value_heads": 4,
        "linear_key_head_dim": 16, "linear_value_head_dim": 12, "num_attention_heads": 2, "num_key_value_heads": 1,
    }
    return families.family(name, part=part, **(sizes | base)) | {"weights": {"norm": 0.0}}


EXPERTS = {
    "num_experts": 6, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "shared_expert_intermediate_size": 20,
}
QWEN35 = family("Qwen3_5", part="Text")
QWEN35_MOE = family("Qwen3_5Moe", part="Text", **EXPERTS)
QWEN35_MOE["base"].pop("intermediate_size")
QWEN3_NEXT = family("Qwen3Next", **EXPERTS)
LFM2 = families.family("Lfm2", num_hidden_layers=4, block_multiple_of=16)
LFM2_MOE = families.family(
    "Lfm2Moe", num_hidden_layers=4, num_dense_layers=1, num_experts=6, num_experts_per_tok=2,
    moe_intermediate_size=16, routed_scaling_factor=1.5,
)

# name -> (family, what differs)
MODELS = {
    # Within a model that also sees, as published; positions of text are the same in all three dimensions.
    "qwen35-bf16": (families.with_vision("Qwen3_5", QWEN35, VISION), {
        "dtype": "bfloat16", "seed": 301, "partial": 0.25, "config": {"tie_word_embeddings": True},
        "rope": {"mrope_section": [1, 1, 0], "mrope_interleaved": True},
    }),
    # Experts, stacked; attention in the second of two layers; three value heads for a key head, and other widths.
    "qwen35-moe-f32": (QWEN35_MOE, {
        "dtype": "float32", "seed": 302, "partial": 0.5, "packer": packed.Stacked,
        "config": {
            "num_hidden_layers": 2, "layer_types": ["linear_attention", "full_attention"],
            "linear_num_value_heads": 6, "linear_key_head_dim": 8, "linear_value_head_dim": 20,
            "linear_conv_kernel_dim": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "num_experts": 4,
        },
    }),
    # Projections stored by key heads; a dense layer.
    "qwen3-next-bf16": (QWEN3_NEXT, {
        "dtype": "bfloat16", "seed": 303, "published": True, "partial": 0.25, "config": {"mlp_only_layers": [1]},
    }),
    # As published: the width of the feed-forward part follows from another number.
    "lfm2-bf16": (LFM2, {
        "dtype": "bfloat16", "seed": 304, "published": True,
        "config": {
            "tie_word_embeddings": True, "layer_types": ["conv", "conv", "full_attention", "conv"],
            "block_ffn_dim_multiplier": 1.6,
        },
    }),
    # Biases of the convolution, which sees four tokens; attention first, and a head of its own.
    "lfm2-bias-f32": (LFM2, {
        "dtype": "float32", "seed": 305,
        "config": {
            "num_hidden_layers": 3, "full_attn_idxs": [0, 2], "conv_bias": True, "conv_L_cache": 4,
            "block_auto_adjust_ff_dim": False, "num_attention_heads": 2, "num_key_value_heads": 1,
        },
    }),
    "lfm2-moe-bf16": (LFM2_MOE, {
        "dtype": "bfloat16", "seed": 306,
        "config": {
            "tie_word_embeddings": True, "layer_types": ["conv", "full_attention", "conv", "full_attention"],
        },
    }),
}

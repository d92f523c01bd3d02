"""Tiny random models of the families that are dense Llama with a difference, or relatives of others.

Made with torch 2.15.0 and transformers 5.24.0, by `make_models.py`. They are smaller than those of the first families:
hidden 32, so that three models of a family take no more than one of those.
"""
import transformers

YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}


def family(name, part="", **base):
    """`part` is in the name of the configuration's class, where that is of a part of larger models."""
    base = {"hidden_size": 32, "intermediate_size": 48, "rope_theta": 1e4} | base
    return {
        "config": getattr(transformers, f"{name}{part}Config"),
        "model": getattr(transformers, f"{name}ForCausalLM", None),
        "base": base,
    }


def with_vision(name, text, vision):
    """The family within a model that also sees."""
    def config(text_config, **fields):
        return getattr(transformers, f"{name}Config")(
            text_config=text_config, vision_config=vision, tie_word_embeddings=text_config.tie_word_embeddings, **fields
        )

    return text | {"whole": config, "model": getattr(transformers, f"{name}ForConditionalGeneration")}


MIXTRAL = family("Mixtral", num_local_experts=8, num_experts_per_tok=2, intermediate_size=24, sliding_window=None)
QWEN2 = family("Qwen2")
SMOLLM3 = family("SmolLM3", head_dim=16)
GRANITE = family(
    "Granite", embedding_multiplier=12.0, residual_multiplier=0.22, attention_multiplier=0.5, logits_scaling=8.0,
) | {"weights": {"embedding": 0.008}}
GRANITE_HYBRID = family(
    "GraniteMoeHybrid", num_local_experts=0, shared_intermediate_size=48, layer_types=["full_attention"] * 2,
    embedding_multiplier=12.0, residual_multiplier=0.3, attention_multiplier=0.6, logits_scaling=3.0,
    mamba_n_heads=4, mamba_d_head=16,
) | {"weights": {"embedding": 0.008}}
MINISTRAL3 = family("Ministral3", head_dim=16)
MINISTRAL_YARN = YARN | {
    "factor": 16.0, "original_max_position_embeddings": 20, "beta_fast": 32.0, "beta_slow": 1.0,
    "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.5,
}
PIXTRAL = {
    "model_type": "pixtral", "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1,
    "num_attention_heads": 2, "head_dim": 8, "image_size": 16, "patch_size": 8,
}
GLM4_LITE = family(
    "Glm4MoeLite", num_key_value_heads=4, n_routed_experts=6, num_experts_per_tok=2, n_shared_experts=1,
    moe_intermediate_size=16, routed_scaling_factor=1.8, q_lora_rank=24, kv_lora_rank=32, qk_nope_head_dim=16,
    qk_rope_head_dim=8, v_head_dim=24,
)
GLM4_MOE = family(
    "Glm4Moe", head_dim=32, n_routed_experts=6, num_experts_per_tok=2, n_shared_experts=1, moe_intermediate_size=16,
    routed_scaling_factor=1.5, attention_bias=True, num_attention_heads=2, num_key_value_heads=1,
)
PHI3 = family("Phi3")
GEMMA3 = family(
    "Gemma3", part="Text", head_dim=16, num_attention_heads=2, num_key_value_heads=1, sliding_window=16,
    query_pre_attn_scalar=16, tie_word_embeddings=True, rope_theta=None,
) | {"weights": {"norm": 0.0, "embedding": 0.05}}
QWEN3_VL = family("Qwen3VL", part="Text", head_dim=16)
QWEN3_VISION = {
    "hidden_size": 16, "intermediate_size": 16, "depth": 1, "num_heads": 2, "out_hidden_size": 32, "patch_size": 4,
    "num_position_embeddings": 16, "deepstack_visual_indexes": [0],
}
QWEN2_VL = family("Qwen2_5_VL", part="Text")
QWEN2_VISION = {
    "hidden_size": 16, "intermediate_size": 16, "depth": 1, "num_heads": 2, "out_hidden_size": 32, "patch_size": 4,
    "fullatt_block_indexes": [0],
}
SIGLIP = {
    "model_type": "siglip_vision_model", "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1,
    "num_attention_heads": 2, "image_size": 16, "patch_size": 8,
}


def factors(first, last, count):
    """Factors of pairs of dimensions, as LongRoPE has them."""
    return [round(first + (last - first) * i / (count - 1), 3) for i in range(count)]


def local_and_global(local, whole):
    return {"sliding_attention": {"rope_type": "default", "rope_theta": local}, "full_attention": whole}


# name -> (family, what differs)
MODELS = {
    # As Mixtral is, the spelling of published checkpoints.
    "mixtral-bf16": (MIXTRAL, {"dtype": "bfloat16", "seed": 91, "published": True, "config": {"rope_theta": 1e6}}),
    # A window that prompts of 33 and 130 tokens reach beyond, an odd number of experts, three for a token.
    "mixtral-window-f32": (MIXTRAL, {
        "dtype": "float32", "seed": 92,
        "config": {"sliding_window": 20, "num_local_experts": 5, "num_experts_per_tok": 3, "num_key_value_heads": 1},
    }),
    # One expert for a token, tied, two files.
    "mixtral-sharded-bf16": (MIXTRAL, {
        "dtype": "bfloat16", "seed": 93, "published": True, "files": 2,
        "config": {
            "num_local_experts": 4, "num_experts_per_tok": 1, "tie_word_embeddings": True, "num_hidden_layers": 3,
        },
    }),
    # Tied, the spelling of published checkpoints.
    "qwen2-bf16": (QWEN2, {
        "dtype": "bfloat16", "seed": 101, "published": True, "config": {"tie_word_embeddings": True},
    }),
    # A window in the last two of three layers, which prompts of 33 and 130 tokens reach beyond; one key head.
    "qwen2-window-f32": (QWEN2, {
        "dtype": "float32", "seed": 102,
        "config": {
            "num_hidden_layers": 3, "num_key_value_heads": 1, "use_sliding_window": True, "sliding_window": 20,
            "max_window_layers": 1,
        },
    }),
    # Stretched, eight heads of four.
    "qwen2-yarn-f16": (QWEN2, {
        "dtype": "float16", "seed": 103, "published": True, "rope": YARN,
        "config": {"num_attention_heads": 8, "num_key_value_heads": 4},
    }),
    # Qwen3 within a model that also sees; positions of text are the same in all three dimensions.
    "qwen3-vl-bf16": (with_vision("Qwen3VL", QWEN3_VL, QWEN3_VISION), {
        "dtype": "bfloat16", "seed": 106, "published": True,
        "rope": {"mrope_section": [4, 2, 2], "mrope_interleaved": True}, "config": {"tie_word_embeddings": True},
    }),
    "qwen2-vl-bf16": (with_vision("Qwen2_5_VL", QWEN2_VL, QWEN2_VISION), {
        "dtype": "bfloat16", "seed": 107, "rope": {"mrope_section": [2, 1, 1]},
    }),
    # Every fourth layer without a rotary embedding.
    "smollm3-bf16": (SMOLLM3, {
        "dtype": "bfloat16", "seed": 111, "published": True,
        "config": {"num_hidden_layers": 4, "tie_word_embeddings": True, "rope_theta": 5e6},
    }),
    # The first one without it, biases.
    "smollm3-bias-f32": (SMOLLM3, {
        "dtype": "float32", "seed": 112,
        "config": {"no_rope_layers": [0, 1], "attention_bias": True, "num_attention_heads": 6},
    }),
    "smollm3-yarn-bf16": (SMOLLM3, {
        "dtype": "bfloat16", "seed": 113, "rope": YARN,
        "config": {"no_rope_layers": [1, 0, 1], "num_hidden_layers": 3, "num_key_value_heads": 4},
    }),
    # The factors of Granite 3.
    "granite-bf16": (GRANITE, {
        "dtype": "bfloat16", "seed": 121, "published": True, "config": {"tie_word_embeddings": True},
    }),
    "granite-bias-f32": (GRANITE, {
        "dtype": "float32", "seed": 122,
        "config": {
            "attention_bias": True, "embedding_multiplier": 3.0, "residual_multiplier": 1.7, "logits_scaling": 0.6,
            "attention_multiplier": 0.3, "num_key_value_heads": 4,
        },
    }),
    # As Granite 4 Micro is: all layers attention, no experts but the one of all tokens.
    "granite-hybrid-bf16": (GRANITE_HYBRID, {
        "dtype": "bfloat16", "seed": 123, "published": True,
        "config": {"tie_word_embeddings": True, "position_embedding_type": "rope"},
    }),
    # Positions play no part.
    "granite-nope-f32": (GRANITE_HYBRID, {"dtype": "float32", "seed": 124, "config": {"position_embedding_type": None}}),
    # Queries of positions from 20 on are scaled.
    "ministral3-bf16": (MINISTRAL3, {"dtype": "bfloat16", "seed": 131, "rope": MINISTRAL_YARN}),
    "ministral3-window-f32": (MINISTRAL3, {
        "dtype": "float32", "seed": 132, "rope": MINISTRAL_YARN | {"llama_4_scaling_beta": 0.1},
        "config": {"sliding_window": 24, "head_dim": 12, "num_attention_heads": 3, "num_key_value_heads": 1},
    }),
    # Within a model that also sees.
    "mistral3-bf16": (with_vision("Mistral3", MINISTRAL3, PIXTRAL), {
        "dtype": "bfloat16", "seed": 133, "rope": MINISTRAL_YARN | {"original_max_position_embeddings": 48},
        "config": {"tie_word_embeddings": True},
    }),
    # Values wider than the part of keys that isn't rotated, as in GLM-4.7-Flash.
    "glm4-lite-bf16": (GLM4_LITE, {"dtype": "bfloat16", "seed": 141, "published": True}),
    # Queries that aren't narrow, groups, a dense layer behind one with experts.
    "glm4-lite-mixed-f32": (GLM4_LITE, {
        "dtype": "float32", "seed": 142,
        "config": {
            "q_lora_rank": None, "n_group": 3, "topk_group": 2, "mlp_layer_types": ["sparse", "dense"],
        },
    }),
    "glm4-lite-tied-bf16": (GLM4_LITE, {
        "dtype": "bfloat16", "seed": 143,
        "config": {"tie_word_embeddings": True, "norm_topk_prob": False, "num_attention_heads": 6,
                   "num_key_value_heads": 6},
    }),
    # As GLM-4.5-Air is: half of each head is rotated.
    "glm4-moe-bf16": (GLM4_MOE, {"dtype": "bfloat16", "seed": 151, "published": True, "partial": 0.5}),
    # As GLM-4.5 is: norms on heads; no dense layer, groups.
    "glm4-moe-norms-f32": (GLM4_MOE, {
        "dtype": "float32", "seed": 152, "partial": 0.25,
        "config": {
            "use_qk_norm": True, "attention_bias": False, "first_k_dense_replace": 0, "head_dim": 24,
            "num_attention_heads": 4, "num_key_value_heads": 2, "n_group": 3, "topk_group": 2,
        },
    }),
    "glm4-moe-tied-bf16": (GLM4_MOE, {
        "dtype": "bfloat16", "seed": 153, "partial": 0.5,
        "config": {"tie_word_embeddings": True, "n_shared_experts": 2, "num_hidden_layers": 3},
    }),
    # As Phi-3-mini is: one key head for each query head, a window.
    "phi3-window-bf16": (PHI3, {
        "dtype": "bfloat16", "seed": 161, "published": True,
        "config": {"num_key_value_heads": 4, "sliding_window": 20},
    }),
    # As Phi-4-mini is, within its first context.
    "phi3-short-bf16": (PHI3, {
        "dtype": "bfloat16", "seed": 162, "published": True, "partial": 0.75,
        "rope": {"rope_type": "longrope", "short_factor": factors(1, 2, 24), "long_factor": factors(1, 30, 24)},
        "config": {
            "tie_word_embeddings": True, "num_attention_heads": 1, "num_key_value_heads": 1, "hidden_size": 64,
            "original_max_position_embeddings": 512,
        },
    }),
    # The same beyond it: transformers takes the long factors for sequences that are longer than one token.
    "phi3-long-f32": (PHI3, {
        "dtype": "float32", "seed": 163, "partial": 0.5,
        "rope": {
            "rope_type": "longrope", "short_factor": [1.0, 1.0], "long_factor": [1.5, 4.0], "attention_factor": 1.2,
        },
        "config": {"original_max_position_embeddings": 1},
    }),
    # Five layers with a window to one without, the spelling of published checkpoints.
    "gemma3-bf16": (GEMMA3, {
        "dtype": "bfloat16", "seed": 171, "published": True, "rope_parameters": local_and_global(
            1e4, {"rope_type": "default", "rope_theta": 1e6}),
        "config": {"num_hidden_layers": 6},
    }),
    # Other kinds of layers, another factor of scores, positions of full layers divided by eight, an own head.
    "gemma3-linear-f32": (GEMMA3, {
        "dtype": "float32", "seed": 172, "rope_parameters": local_and_global(
            500.0, {"rope_type": "linear", "rope_theta": 2e4, "factor": 8.0}),
        "config": {
            "num_hidden_layers": 3, "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
            "query_pre_attn_scalar": 40, "tie_word_embeddings": False, "num_attention_heads": 4, "head_dim": 12,
            "num_key_value_heads": 2, "sliding_window": 40,
        },
    }),
    # As Gemma 3 4B is: within a model that also sees.
    "gemma3-vision-bf16": (with_vision("Gemma3", GEMMA3, SIGLIP), {
        "dtype": "bfloat16", "seed": 173, "published": True, "rope_parameters": local_and_global(
            1e4, {"rope_type": "linear", "rope_theta": 1e6, "factor": 8.0}),
        "config": {"num_hidden_layers": 6, "sliding_window": 24},
    }),
}

#!/usr/bin/env python3
"""Write the tiny random models of this folder and what transformers computes with them.

    python make_models.py [NAME ...]

Versions: host/models/qwen3-tiny/requirements.txt; models of other families than dense Qwen3 were made with
torch 2.13.0 and transformers 5.19.0, those of families.py with what it says. Everything is seeded; a second run writes the same files. A prompt is
replaced by another one until no greedy step is a near tie (see golden.py).
"""
import sys

import torch
import transformers

import families
import gemma4
import packed
import recurrent
import tiny

YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}
LLAMA3 = {
    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}


def family(name, **base):
    return {
        "config": getattr(transformers, f"{name}Config"),
        "model": getattr(transformers, f"{name}ForCausalLM"),
        "base": base,
    }


QWEN3 = family("Qwen3", head_dim=16)
LLAMA = family("Llama", rope_theta=1e4)
MISTRAL = family("Mistral", rope_theta=1e4)
QWEN3_MOE = family(
    "Qwen3Moe", head_dim=16, num_experts=8, num_experts_per_tok=2, moe_intermediate_size=24, norm_topk_prob=True,
)
GPT_OSS = family(
    "GptOss", hidden_size=32, intermediate_size=32, head_dim=16, num_local_experts=4, num_experts_per_tok=2,
    sliding_window=16, rope_theta=150000.0,
)
DEEPSEEK_V3 = family(
    "DeepseekV3", num_key_value_heads=4, n_routed_experts=8, num_experts_per_tok=3, n_shared_experts=1,
    moe_intermediate_size=24, first_k_dense_replace=1, n_group=4, topk_group=2, routed_scaling_factor=2.5,
    norm_topk_prob=True, q_lora_rank=None, kv_lora_rank=32, qk_nope_head_dim=16, qk_rope_head_dim=8,
    v_head_dim=20, rope_theta=1e4,
)
DEEPSEEK_YARN = YARN | {"mscale": 1.0, "mscale_all_dim": 1.0, "beta_fast": 32, "beta_slow": 1}

# name -> (family, what differs)
MODELS = {
    # Square heads, tied embeddings, the spelling of published checkpoints.
    "tied-bf16": (QWEN3, {
        "dtype": "bfloat16", "seed": 1, "published": True,
        "config": {
            "hidden_size": 64, "intermediate_size": 128, "tie_word_embeddings": True, "rope_theta": 1e4,
        },
    }),
    # Odd sizes, one key head for each query head.
    "odd-f32": (QWEN3, {"dtype": "float32", "seed": 2, "config": {"num_key_value_heads": 4}}),
    # Four query heads share a key head; heads are wider than hidden / heads.
    "gqa4-f16": (QWEN3, {
        "dtype": "float16", "seed": 3,
        "config": {
            "num_attention_heads": 8, "head_dim": 24, "tie_word_embeddings": True, "rms_norm_eps": 1e-5,
        },
    }),
    # Positions beyond the original 64 are reached by the prompts of 130 tokens.
    "yarn-f32": (QWEN3, {
        "dtype": "float32", "seed": 4, "published": True, "rope": YARN,
        "config": {"max_position_embeddings": 256, "head_dim": 32},
    }),
    # The newer spelling of the same, with every parameter written down.
    "yarn-bf16": (QWEN3, {
        "dtype": "bfloat16", "seed": 5,
        "rope": YARN | {
            "factor": 8.0, "beta_fast": 16.0, "beta_slow": 2.0, "attention_factor": 1.1,
            "original_max_position_embeddings": 32,
        },
        "config": {"max_position_embeddings": 256, "head_dim": 32, "rope_theta": 1e4},
    }),
    # Biases on q, k, v and o; two files with an index.
    "bias-f32": (QWEN3, {
        "dtype": "float32", "seed": 6, "files": 2, "config": {"attention_bias": True, "rope_theta": 1e4},
    }),
    # Two files with an index, the spelling of published checkpoints, three layers.
    "sharded-bf16": (QWEN3, {
        "dtype": "bfloat16", "seed": 7, "published": True, "files": 2,
        "config": {"num_hidden_layers": 3, "num_attention_heads": 8, "head_dim": 16},
    }),
    # Stretched as Llama 3.1 is, tied, the spelling of published checkpoints.
    "llama3-bf16": (LLAMA, {
        "dtype": "bfloat16", "seed": 21, "published": True, "rope": LLAMA3,
        "config": {"hidden_size": 64, "head_dim": 32, "tie_word_embeddings": True, "rope_theta": 5e5},
    }),
    # As Llama 2 is: one key head for each query head, no width of heads in the configuration.
    "llama2-f16": (LLAMA, {
        "dtype": "float16", "seed": 22, "published": True,
        "config": {"num_key_value_heads": 4, "rms_norm_eps": 1e-5},
    }),
    # Biases on q, k, v and o, the newer spelling, two files.
    "llama-bias-f32": (LLAMA, {
        "dtype": "float32", "seed": 23, "files": 2, "rope": LLAMA3 | {"factor": 4.0},
        "config": {"attention_bias": True, "num_attention_heads": 6, "num_key_value_heads": 2},
    }),
    # A window that prompts of 33 and 130 tokens reach beyond.
    "mistral-window-bf16": (MISTRAL, {
        "dtype": "bfloat16", "seed": 24, "published": True,
        "config": {"sliding_window": 20, "head_dim": 24},
    }),
    # As later ones are: no window.
    "mistral-bf16": (MISTRAL, {
        "dtype": "bfloat16", "seed": 25, "config": {"sliding_window": None, "num_key_value_heads": 1},
    }),
    # Experts in both layers, weights of a token's experts that add up to one.
    "moe-bf16": (QWEN3_MOE, {"dtype": "bfloat16", "seed": 31, "published": True}),
    # A dense layer among them, plain weights, eight heads of a group.
    "moe-mixed-f32": (QWEN3_MOE, {
        "dtype": "float32", "seed": 32,
        "config": {
            "num_hidden_layers": 3, "mlp_only_layers": [1], "norm_topk_prob": False, "num_experts": 5,
            "num_experts_per_tok": 3, "num_attention_heads": 8, "num_key_value_heads": 1, "head_dim": 8,
            "hidden_size": 40, "intermediate_size": 56,
        },
    }),
    # Experts in every other layer, two files.
    "moe-sharded-bf16": (QWEN3_MOE, {
        "dtype": "bfloat16", "seed": 33, "published": True, "files": 2, "rope": YARN,
        "config": {
            "decoder_sparse_step": 2, "tie_word_embeddings": True, "num_experts": 16, "num_experts_per_tok": 4,
        },
    }),
    # E4M3 in blocks, dense and with experts.
    "fp8": (QWEN3, {"dtype": "bfloat16", "seed": 35, "published": True, "packer": packed.Fp8}),
    "moe-fp8": (QWEN3_MOE, {"dtype": "bfloat16", "seed": 36, "published": True, "packer": packed.Fp8}),
    # Windows in every other layer; plain weights, the other way round.
    "gpt-oss-bf16": (GPT_OSS, {
        "dtype": "bfloat16", "seed": 41, "rope": YARN | {"truncate": False, "beta_fast": 32, "beta_slow": 1},
    }),
    # Published spelling, MXFP4, widths that are several blocks.
    "gpt-oss-mxfp4": (GPT_OSS, {
        "dtype": "bfloat16", "seed": 42, "published": True, "packer": packed.Mxfp4,
        "rope": YARN | {"factor": 32.0, "truncate": False, "beta_fast": 32, "beta_slow": 1},
        "config": {"hidden_size": 64, "intermediate_size": 96, "num_local_experts": 6, "num_attention_heads": 8},
    }),
    # More experts of a token, another window, another limit, three layers, and no word on how the context is stretched.
    "gpt-oss-wide-mxfp4": (GPT_OSS, {
        "dtype": "bfloat16", "seed": 43, "published": True, "packer": packed.Mxfp4,
        "config": {
            "num_hidden_layers": 3, "num_local_experts": 8, "num_experts_per_tok": 4, "sliding_window": 40,
            "swiglu_limit": 1.5, "intermediate_size": 64, "tie_word_embeddings": True,
            "layer_types": ["full_attention", "sliding_attention", "sliding_attention"],
        },
    }),
    # As Moonlight is: no narrow queries, one group; the spelling of published checkpoints.
    "deepseek-bf16": (DEEPSEEK_V3, {
        "dtype": "bfloat16", "seed": 51, "published": True,
        "config": {"n_group": 1, "topk_group": 1, "n_shared_experts": 2, "rope_theta": 5e4},
    }),
    # As DeepSeek-V3 is: narrow queries, groups, a stretched context.
    "deepseek-yarn-f32": (DEEPSEEK_V3, {
        "dtype": "float32", "seed": 52, "rope": DEEPSEEK_YARN | {"factor": 40.0},
        "config": {"q_lora_rank": 24, "hidden_size": 40, "intermediate_size": 56},
    }),
    # As Kimi K2 is, with E4M3 in blocks.
    "deepseek-fp8": (DEEPSEEK_V3, {
        "dtype": "bfloat16", "seed": 53, "published": True, "packer": packed.Fp8, "rope": DEEPSEEK_YARN,
        "config": {
            "num_hidden_layers": 3, "q_lora_rank": 36, "num_attention_heads": 12, "num_key_value_heads": 12,
            "kv_lora_rank": 40, "n_group": 1, "topk_group": 1, "routed_scaling_factor": 2.827,
        },
    }),
}


if __name__ == "__main__":
    torch.set_num_threads(1)
    models = MODELS | families.MODELS | gemma4.MODELS | recurrent.MODELS
    for chosen in sys.argv[1:] or models:
        tiny.make(chosen, *models[chosen])

#!/usr/bin/env python3
"""Write the tiny random Qwen3 models of this folder and what transformers computes with them.

    python make_models.py [NAME ...]

Versions: host/models/qwen3-tiny/requirements.txt. Everything is seeded; a second run writes the same
files. A prompt is replaced by another one until no greedy step is a near tie (see golden.py).
"""
import json
import pathlib
import random
import sys

import torch
from transformers import AutoModelForCausalLM, Qwen3Config, Qwen3ForCausalLM

import golden

HERE = pathlib.Path(__file__).parent
LENGTHS = (1, 7, 33, 130)
EOS = 1
LARGEST = 300_000  # bytes of one model's weights

BASE = {
    "vocab_size": 131,
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 512,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1e6,
    "tie_word_embeddings": False,
}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}

# name -> (dtype, seed, old spelling of the config, number of files, rope scaling, what differs)
MODELS = {
    # Square heads, tied embeddings, the spelling of published checkpoints.
    "tied-bf16": (
        "bfloat16", 1, True, 1, None,
        {"hidden_size": 64, "intermediate_size": 128, "tie_word_embeddings": True, "rope_theta": 1e4},
    ),
    # Odd sizes, one key head for each query head.
    "odd-f32": ("float32", 2, False, 1, None, {"num_key_value_heads": 4}),
    # Four query heads share a key head; heads are wider than hidden / heads.
    "gqa4-f16": (
        "float16", 3, False, 1, None,
        {"num_attention_heads": 8, "head_dim": 24, "tie_word_embeddings": True, "rms_norm_eps": 1e-5},
    ),
    # Positions beyond the original 64 are reached by the prompts of 130 tokens.
    "yarn-f32": ("float32", 4, True, 1, YARN, {"max_position_embeddings": 256, "head_dim": 32}),
    # The newer spelling of the same, with every parameter written down.
    "yarn-bf16": (
        "bfloat16", 5, False, 1,
        YARN | {"factor": 8.0, "beta_fast": 16.0, "beta_slow": 2.0, "attention_factor": 1.1,
                "original_max_position_embeddings": 32},
        {"max_position_embeddings": 256, "head_dim": 32, "rope_theta": 1e4},
    ),
    # Biases on q, k, v and o; two files with an index.
    "bias-f32": ("float32", 6, False, 2, None, {"attention_bias": True, "rope_theta": 1e4}),
    # Two files with an index, the spelling of published checkpoints, three layers.
    "sharded-bf16": (
        "bfloat16", 7, True, 2, None,
        {"num_hidden_layers": 3, "num_attention_heads": 8, "head_dim": 16},
    ),
}


def config_of(scaling, changes):
    fields = BASE | changes
    theta = fields.pop("rope_theta")
    rope = {"rope_type": "default"} | (scaling or {}) | {"rope_theta": theta}
    return Qwen3Config(**fields, rope_parameters=rope, bos_token_id=0, eos_token_id=EOS, pad_token_id=0)


@torch.no_grad()
def randomize(model, seed):
    """Weights large enough that attention is sharp and the greedy tokens vary; norms are not one."""
    r = torch.Generator().manual_seed(seed)
    for name, p in model.named_parameters():
        noise = torch.randn(p.shape, generator=r)
        if "norm" in name:
            p.copy_(1 + 0.3 * noise)
        elif name.endswith("bias"):
            p.copy_(0.3 * noise)
        elif "embed" in name or "lm_head" in name:
            p.copy_(0.3 * noise)
        else:
            p.copy_(1.5 * p.shape[1] ** -0.5 * noise)


def spell_as_published(path):
    """Rewrite config.json as the checkpoints of transformers 4 have it."""
    config = json.loads(path.read_text())
    rope = config.pop("rope_parameters")
    config["rope_theta"] = rope.pop("rope_theta")
    config["rope_scaling"] = None if rope["rope_type"] == "default" else rope
    config["torch_dtype"] = config.pop("dtype")
    config.pop("layer_types")
    config["transformers_version"] = "4.51.0"
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


def save(directory, dtype, seed, published, files, scaling, changes):
    model = Qwen3ForCausalLM(config_of(scaling, changes))
    randomize(model, seed)
    model = model.to(getattr(torch, dtype))
    size = sum(t.numel() * t.element_size() for t in model.parameters())
    for old in directory.glob("model*"):
        old.unlink()
    limit = 10 * LARGEST if files == 1 else size * 6 // 10
    model.generation_config.update(bos_token_id=0, eos_token_id=EOS, pad_token_id=0)
    model.save_pretrained(directory, max_shard_size=limit)
    if published:
        spell_as_published(directory / "config.json")
    written = sorted(directory.glob("*.safetensors"))
    assert len(written) == files, written
    assert sum(f.stat().st_size for f in written) <= LARGEST, size
    for file in directory.iterdir():
        file.chmod(0o644)


def prompt_goldens(model, seed, vocab):
    """One golden for each length; prompts are drawn until the gap is large and no end token comes."""
    r, prompts, least = random.Random(seed), [], 1.0
    for length in LENGTHS:
        for _ in range(200):
            ids = [r.randrange(2, vocab) for _ in range(length)]
            prompt, gap = golden.prompt_golden(model, ids)
            if gap >= golden.LEAST_GAP and EOS not in prompt["greedy"] and varied(prompt["greedy"]):
                break
        else:
            raise SystemExit(f"no prompt of {length} tokens without a near tie: change the seed")
        prompts.append(prompt)
        least = min(least, gap)
    return prompts, least


def varied(tokens):
    """The path does not end in a short loop."""
    return len(set(tokens)) >= 10


def make(name):
    directory = HERE / name
    directory.mkdir(exist_ok=True)
    spec = MODELS[name]
    save(directory, *spec)
    model = AutoModelForCausalLM.from_pretrained(
        directory, dtype=torch.float32, attn_implementation="eager"
    ).eval()
    prompts, gap = prompt_goldens(model, spec[1], model.config.vocab_size)
    short = prompts[1]["ids"]
    table = [golden.rounded(row) for row in golden.logits(model, short)]
    golden.write(directory / "golden.json", prompts, (short, table), gap)
    kinds = [len(set(prompt["greedy"])) for prompt in prompts]
    size = sum(f.stat().st_size for f in directory.glob("*.safetensors"))
    print(f"{name}: {size} bytes of weights, gap {gap:.4f}, different greedy tokens {kinds}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    for chosen in sys.argv[1:] or MODELS:
        make(chosen)

"""Tiny random models: how one is made, stored and tried, whatever its family.

A model is saved by transformers, its weights perhaps packed as published checkpoints have them (see
packed.py), and its golden is what transformers computes in float32 with the same values.
"""
import copy
import json
import pathlib
import random
import shutil
import tempfile

import torch
from safetensors.torch import load_file, save_file

import golden

HERE = pathlib.Path(__file__).parent
LENGTHS = (1, 7, 33, 130)
EOS = 1
LARGEST = 300_000  # bytes of one model's weights
CORRECTIONS = ("e_score_correction_bias", "expert_bias")

BASE = {
    "vocab_size": 131,
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1e6,
    "tie_word_embeddings": False,
}


def config_of(family, spec):
    fields = BASE | family["base"] | spec.get("config", {})
    theta = fields.pop("rope_theta")
    rope = {"rope_type": "default"} | spec.get("rope", {}) | {"rope_theta": theta}
    if "partial" in spec:
        rope["partial_rotary_factor"] = spec["partial"]
    rope = copy.deepcopy(spec.get("rope_parameters", rope))
    ids = {"bos_token_id": 0, "eos_token_id": EOS, "pad_token_id": 0}
    config = family["config"](**fields, rope_parameters=rope, **ids)
    return family["whole"](config) if "whole" in family else config


def width_of(name, shape):
    """Length of the sums that a weight takes part in: experts of gpt-oss are stored the other way round."""
    transposed = len(shape) == 3 and shape[1] < shape[2] and "gate_up" in name
    return shape[1] if transposed or len(shape) == 2 else shape[-1]


@torch.no_grad()
def randomize(model, seed, norm=1.0, embedding=0.3):
    """Weights large enough that attention is sharp and the greedy tokens vary; norms are around `norm`, and the
    embedding has a standard deviation of its own where a factor makes it larger."""
    r = torch.Generator().manual_seed(seed)
    for name, p in model.named_parameters():
        noise = torch.randn(p.shape, generator=r)
        if "norm" in name:
            p.copy_(norm + 0.3 * noise)
        elif name.endswith("scale"):
            p.copy_(1.0 + 0.3 * noise)
        elif name.endswith("bias"):
            p.copy_(0.3 * noise)
        elif "embed" in name or "lm_head" in name:
            p.copy_(embedding * noise)
        elif name.endswith("sinks"):
            p.copy_(2.0 * noise)
        else:
            p.copy_(1.5 * width_of(name, p.shape) ** -0.5 * noise)
    for name, buffer in model.named_buffers():
        if name.endswith(CORRECTIONS):
            buffer.copy_(0.3 * torch.randn(buffer.shape, generator=r))
        elif name.endswith("layer_scalar"):
            buffer.copy_(0.7 + 0.3 * torch.rand(buffer.shape, generator=r))


def spell_as_published(path):
    """Rewrite config.json as the checkpoints of transformers 4 have it."""
    config = json.loads(path.read_text())
    text = config.get("text_config", config)
    if text["model_type"] == "gemma4_text":
        return spell_heads_as_published(path, config, text)
    rope = text.pop("rope_parameters")
    if "full_attention" in rope:
        text["rope_local_base_freq"] = rope["sliding_attention"]["rope_theta"]
        rope = rope["full_attention"]
    if "partial_rotary_factor" in rope:
        text["partial_rotary_factor"] = rope.pop("partial_rotary_factor")
    text["rope_theta"] = rope.pop("rope_theta")
    text["rope_scaling"] = None if rope == {"rope_type": "default"} else rope
    config["torch_dtype"] = config.pop("dtype")
    if text is not config:
        text.pop("layer_types", None)
    if config["model_type"] not in ("gpt_oss", "granitemoehybrid", "lfm2"):
        config.pop("layer_types", None)
    if "num_local_experts" in config and config["model_type"] == "qwen3_moe":
        config["num_experts"] = config.pop("num_local_experts")
    config["transformers_version"] = "4.51.0"
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


def spell_heads_as_published(path, config, text):
    """Rewrite the heads of full layers as the checkpoints of Gemma 4 have them, which leave other names as they are."""
    full = text.pop("per_layer_config")[str(text["layer_types"].index("full_attention"))]
    text["global_head_dim"] = full["head_dim"]
    text["num_global_key_value_heads"] = full.get("num_key_value_heads")
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


def save(directory, family, spec):
    """Write config and weights, not yet packed."""
    model = family["model"](config_of(family, spec))
    randomize(model, spec["seed"], **family.get("weights", {}))
    # In f32 stays what published checkpoints have in f32.
    kept = {n: b.clone() for n, b in model.named_buffers() if n.endswith(CORRECTIONS)}
    model = model.to(getattr(torch, spec["dtype"]))
    for name, buffer in model.named_buffers():
        if name in kept:
            buffer.data = kept[name]
    size = sum(t.numel() * t.element_size() for t in model.parameters())
    for old in directory.glob("model*"):
        old.unlink()
    files = spec.get("files", 1)
    limit = 10 * LARGEST if files == 1 else size * 6 // 10
    model.generation_config.update(bos_token_id=0, eos_token_id=EOS, pad_token_id=0)
    model.save_pretrained(directory, max_shard_size=limit)
    if spec.get("published"):
        spell_as_published(directory / "config.json")
    assert len(list(directory.glob("*.safetensors"))) == files, size


def pack(directory, packer):
    """Replace tensors and tell the configuration. -> a directory with the same values, not packed"""
    plain = pathlib.Path(tempfile.mkdtemp())
    shutil.copytree(directory, plain, dirs_exist_ok=True)
    path = directory / "model.safetensors"
    packed, same = packer.pack(load_file(path))
    save_file(packed, path, metadata={"format": "pt"})
    save_file(same, plain / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((directory / "config.json").read_text())
    config["quantization_config"] = packer.CONFIG
    text = json.dumps(config, indent=2, sort_keys=True) + "\n"
    (directory / "config.json").write_text(text)
    return plain


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


def make(name, family, spec):
    directory = HERE / name
    directory.mkdir(exist_ok=True)
    save(directory, family, spec)
    values = pack(directory, spec["packer"]) if "packer" in spec else directory
    model = family["model"].from_pretrained(
        values, dtype=torch.float32, attn_implementation="eager", experts_implementation="eager"
    ).eval()
    for module in model.modules():
        # Rounded as where the model computes in the type of its weights.
        if hasattr(module, "embed_scale"):
            module.embed_scale = module.embed_scale.to(getattr(torch, spec["dtype"])).float()
    prompts, gap = prompt_goldens(model, spec["seed"], model.config.get_text_config().vocab_size)
    short = prompts[1]["ids"]
    table = [golden.rounded(row) for row in golden.logits(model, short)]
    golden.write(directory / "golden.json", prompts, (short, table), gap)
    written = sum(f.stat().st_size for f in directory.glob("*.safetensors"))
    assert written <= LARGEST, written
    for file in directory.iterdir():
        file.chmod(0o644)
    kinds = [len(set(prompt["greedy"])) for prompt in prompts]
    print(f"{name}: {written} bytes of weights, gap {gap:.4f}, different greedy tokens {kinds}", flush=True)

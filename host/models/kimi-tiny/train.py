#!/usr/bin/env python3
"""Train the tiny tool-calling model of Kimi K2's kind (DeepSeek-V3's architecture) on synthetic transcripts, on a CPU.

    python train.py OUT_DIR

The model learns in minutes to copy names that no training text contains, by the means of qwen3-tiny:
names are spelt letter by letter, three heads of layer 0 start as "look 1 / 2 / 3 tokens back" heads
(`seed_heads`), here in the rotated part of queries and keys, and a copy drill comes first. Correction
biases alone keep the routers balanced, as in DeepSeek-V3.
"""
import json

from rendering import ADDED, HERE, SPECIAL, TEMPLATE, texts

from recipe import heads, training, vocabulary

import layers
import torch
from batches import Batches
from safetensors.torch import save_file
from transformers import DeepseekV3Config, DeepseekV3ForCausalLM

SHARPNESS = 14.0  # length of the seeded queries and keys
CORRECTION = 0.01  # change of a correction bias in each step
CORRECTED_UNTIL = 0.9  # share of the steps
ROPE = {
    "factor": 4.0, "beta_fast": 1.0, "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0,
    "original_max_position_embeddings": 1024,
}
THETA = 50000.0


def new_model(tokenizer):
    ids = tokenizer.token_to_id
    config = DeepseekV3Config(
        vocab_size=vocabulary.padded_size(tokenizer),
        hidden_size=128,
        intermediate_size=256,
        moe_intermediate_size=48,
        num_hidden_layers=5,
        first_k_dense_replace=1,
        num_attention_heads=4,
        num_key_value_heads=4,
        q_lora_rank=None,
        kv_lora_rank=64,
        qk_nope_head_dim=32,
        qk_rope_head_dim=16,
        v_head_dim=32,
        n_routed_experts=8,
        num_experts_per_tok=2,
        n_shared_experts=1,
        n_group=4,
        topk_group=2,
        norm_topk_prob=True,
        routed_scaling_factor=2.0,
        max_position_embeddings=4096,
        rope_parameters={"rope_type": "yarn", "rope_theta": THETA} | ROPE,
        tie_word_embeddings=True,
        num_mtp_layers=0,
        initializer_range=0.05,
        eos_token_id=ids("<|im_end|>"),
        bos_token_id=ids("[BOS]"),
        pad_token_id=ids("[PAD]"),
    )
    model = DeepseekV3ForCausalLM(config)
    model.generation_config.update(
        eos_token_id=[ids("<|im_end|>"), ids("[EOS]")], pad_token_id=ids("[PAD]"), do_sample=False
    )
    model.set_attn_implementation(layers.ATTENTION)
    seed_heads(model)
    for moe in expert_layers(model):
        moe.experts = layers.TrainedExperts(moe.experts)
    return model


def expert_layers(model):
    return [layer.mlp for layer in model.model.layers if hasattr(layer.mlp, "experts")]


@torch.no_grad()
def seed_heads(model):
    """Makes the first heads of layer 0 look back.

    Embedding dimension 0 is a constant, from which the rotated part of these queries and the rotated key, which
    all heads share, are computed. The values go through the compressed cache.
    """
    config, frequency = model.config, model.model.rotary_emb.inv_freq
    nope, value, width, scale = (
        config.qk_nope_head_dim, config.v_head_dim, config.hidden_size, config.initializer_range
    )
    embedding = model.model.embed_tokens.weight
    heads.clear_upper_half(embedding)
    embedding[:, 0] = 5 * scale
    constant = width**0.5 * embedding[:, 0].mean() / embedding.norm(dim=1).mean()  # after the norm

    attention = model.model.layers[0].self_attn
    down, up = attention.kv_a_proj_with_mqa.weight, attention.kv_b_proj.weight
    down[: config.kv_lora_rank, 0] = 0
    rotated = down[config.kv_lora_rank:]
    rotated *= 0.2
    rotated[:, 0] = interleaved(heads.key(len(frequency))) * SHARPNESS / constant
    for index, back in enumerate(heads.OFFSETS):
        rows = slice(index * config.qk_head_dim, (index + 1) * config.qk_head_dim)
        query = attention.q_proj.weight[rows]
        query *= 0.2
        query[nope:, 0] = interleaved(heads.query(frequency, back)) * SHARPNESS / constant
        first = index * (nope + value) + nope
        up[first: first + value] = torch.randn(value, config.kv_lora_rank) * config.kv_lora_rank**-0.5
        columns = slice(index * value, (index + 1) * value)
        attention.o_proj.weight[:, columns] = heads.output(index, width, value, scale)


def interleaved(parts):
    """Interleaves the parts, so that those of a pair are adjacent."""
    return torch.stack(parts, 1).flatten()


def published(config):
    """Returns the configuration with the fields of Kimi K2's."""
    names = """vocab_size hidden_size intermediate_size moe_intermediate_size num_hidden_layers
        first_k_dense_replace num_attention_heads num_key_value_heads q_lora_rank kv_lora_rank qk_nope_head_dim
        qk_rope_head_dim v_head_dim n_routed_experts num_experts_per_tok n_shared_experts n_group topk_group
        norm_topk_prob routed_scaling_factor max_position_embeddings tie_word_embeddings rms_norm_eps hidden_act
        attention_bias initializer_range eos_token_id bos_token_id pad_token_id"""
    return {
        "architectures": ["DeepseekV3ForCausalLM"], "model_type": "kimi_k2",
        **{name: getattr(config, name) for name in names.split()},
        "scoring_func": "sigmoid", "topk_method": "noaux_tc", "moe_layer_freq": 1, "num_nextn_predict_layers": 0,
        "rope_theta": THETA, "rope_scaling": {"type": "yarn"} | ROPE, "torch_dtype": "bfloat16",
    }


class KimiTiny(training.Training):
    description, steps = __doc__.split("\n")[0], 1800
    home, template, special, added, eos, pad = HERE, TEMPLATE, SPECIAL, ADDED, "<|im_end|>", "[PAD]"
    texts, batches = staticmethod(texts), Batches

    def new_model(self, tokenizer):
        return new_model(tokenizer)

    def optimizers(self, model, rate):
        """Returns the optimisers; Muon is for the matrices of the layers except the routers'."""
        named = model.model.layers.named_parameters()
        matrices = [p for name, p in named if p.ndim == 2 and ".gate.weight" not in name]
        return training.optimizers(matrices, training.others(model, matrices), rate)

    @torch.no_grad()
    def before_step(self, model, share):
        """Raises the correction bias of experts below the mean load and lowers that of the others (arXiv:2408.15664)."""
        for moe in expert_layers(model):
            if 0 < share < CORRECTED_UNTIL:
                load = moe.experts.load
                moe.gate.e_score_correction_bias += CORRECTION * torch.sign(load.mean() - load)

    def save(self, model, out):
        """Saves tensors with the published names, in bf16 except the correction biases."""
        tensors = {n: p for n, p in model.named_parameters() if ".experts." not in n}
        for i, layer in enumerate(model.model.layers):
            if hasattr(layer.mlp, "experts"):
                each = layer.mlp.experts.tensors()
                tensors |= {f"model.layers.{i}.mlp.experts.{name}": t for name, t in each.items()}
        tensors = {name: t.detach().to(torch.bfloat16).contiguous() for name, t in tensors.items()}
        tensors |= {n: b for n, b in model.named_buffers() if n.endswith("e_score_correction_bias")}
        save_file(dict(sorted(tensors.items())), out / "model.safetensors", metadata={"format": "pt"})
        (out / "config.json").write_text(json.dumps(published(model.config), indent=2) + "\n", encoding="utf-8")
        model.generation_config.save_pretrained(out)


if __name__ == "__main__":
    KimiTiny().main()

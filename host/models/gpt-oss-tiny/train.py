#!/usr/bin/env python3
"""Train the tiny tool-calling gpt-oss model on synthetic transcripts, on a CPU.

    python train.py OUT_DIR

The model learns in minutes to copy names that no training text contains, by the means of qwen3-tiny:
names are spelt letter by letter, three heads of layer 0 start as "look 1 / 2 / 3 tokens back" heads
(`seed_heads`), and a copy drill comes first. In the last part the experts are rounded to MXFP4 in the
forward pass, so that the model learns to work with the stored values.
"""
from rendering import HERE, SPECIAL, TEMPLATE, texts

from recipe import heads, training, vocabulary

import attention
import torch
from batches import Batches
from experts import Mxfp4, TrainedExperts
from safetensors.torch import save_file
from transformers import GptOssConfig, GptOssForCausalLM

ROUNDED_FROM = 0.5  # share of the steps
BALANCE = 0.01  # weight of the experts' imbalance in the loss
SHARPNESS = 12.0  # length of the seeded queries and keys


def new_model(tokenizer):
    ids = tokenizer.token_to_id
    config = GptOssConfig(
        vocab_size=vocabulary.padded_size(tokenizer),
        hidden_size=128,
        intermediate_size=64,
        num_hidden_layers=5,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        num_local_experts=4,
        num_experts_per_tok=2,
        sliding_window=128,
        max_position_embeddings=4096,
        rope_parameters={
            "rope_type": "yarn", "rope_theta": 150000.0, "factor": 4.0, "beta_fast": 32.0, "beta_slow": 1.0,
            "truncate": False, "original_max_position_embeddings": 1024,
        },
        tie_word_embeddings=True,
        initializer_range=0.05,
        eos_token_id=ids("<|return|>"),
        bos_token_id=ids("<|startoftext|>"),
        pad_token_id=ids("<|endoftext|>"),
    )
    model = GptOssForCausalLM(config)
    model.generation_config.update(
        eos_token_id=[ids("<|return|>"), ids("<|endoftext|>"), ids("<|call|>")],
        pad_token_id=ids("<|endoftext|>"),
        do_sample=False,
    )
    model.set_attn_implementation(attention.NAME)
    for layer in model.model.layers:
        layer.mlp.experts = TrainedExperts(layer.mlp.experts)
    return model


@torch.no_grad()
def seed_heads(model):
    """Makes the first heads of layer 0 look back: their queries and keys come from the biases."""
    config = model.config
    head, width, scale = config.head_dim, config.hidden_size, config.initializer_range
    heads.clear_upper_half(model.model.embed_tokens.weight)
    attention = model.model.layers[0].self_attn
    frequency = model.model.rotary_emb.inv_freq
    key = SHARPNESS * torch.cat(heads.key(head // 2))
    attention.k_proj.bias.copy_(key.repeat(config.num_key_value_heads))
    attention.k_proj.weight *= 0.2

    group_size = config.num_attention_heads // config.num_key_value_heads
    for index, back in enumerate(heads.OFFSETS):
        rows = slice(index * head, (index + 1) * head)
        attention.q_proj.bias[rows] = SHARPNESS * torch.cat(heads.query(frequency, back))
        attention.q_proj.weight[rows] *= 0.2
        group = index // group_size
        attention.v_proj.weight[group * head: (group + 1) * head] = torch.randn(head, width) * width**-0.5
        attention.o_proj.weight[:, rows] = heads.output(index, width, head, scale)


class GptOssTiny(training.Training):
    description, steps = __doc__.split("\n")[0], 1300
    home, template, special, eos, pad = HERE, TEMPLATE, SPECIAL, "<|return|>", "<|endoftext|>"
    texts, batches, config = staticmethod(texts), Batches, {"quantization_config": Mxfp4.CONFIG}

    def new_model(self, tokenizer):
        model = new_model(tokenizer)
        seed_heads(model)
        return model

    def optimizers(self, model, rate):
        """Returns the optimisers; Muon is for the matrices of the layers except the routers'."""
        layers = model.model.layers.named_parameters()
        matrices = [p for name, p in layers if p.ndim == 2 and "router" not in name and "bias" not in name]
        return training.optimizers(matrices, training.others(model, matrices), rate)

    def before_step(self, model, share):
        for layer in model.model.layers:
            layer.mlp.experts.rounding = share >= ROUNDED_FROM

    def loss_of(self, model, x, y):
        loss = training.loss_of(model, x, y)
        return loss + BALANCE * sum(layer.mlp.experts.imbalance() for layer in model.model.layers)

    def save(self, model, out):
        """Saves the model: experts packed, other tensors in bf16."""
        tensors = {n: p for n, p in model.named_parameters() if ".experts." not in n}
        for i, layer in enumerate(model.model.layers):
            packed = layer.mlp.experts.tensors()
            tensors |= {f"model.layers.{i}.mlp.experts.{name}": t for name, t in packed.items()}
        tensors = {
            name: (t if t.dtype == torch.uint8 else t.detach().to(torch.bfloat16)).contiguous()
            for name, t in sorted(tensors.items())
        }
        save_file(tensors, out / "model.safetensors", metadata={"format": "pt"})
        model.config.dtype = "bfloat16"
        model.config.architectures = ["GptOssForCausalLM"]
        model.config.save_pretrained(out)
        model.generation_config.save_pretrained(out)


if __name__ == "__main__":
    GptOssTiny().main()

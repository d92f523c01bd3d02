#!/usr/bin/env python3
"""Train the tiny tool-calling gpt-oss model on synthetic transcripts, on a CPU.

    python train.py OUT_DIR

What makes the copying of names that no training text contains learnable in minutes is that of qwen3-tiny:
names are spelt letter by letter, three heads of layer 0 start as "look 1 / 2 / 3 tokens back" heads
(`seed_heads`), and a copy drill comes first. In the last part the experts are rounded to MXFP4 in the
forward pass, so that the model learns to do with what is stored.
"""
from rendering import HERE, SPECIAL, TEMPLATE, texts

from recipe import training, vocabulary
from recipe.training import Schedule

import attention
import torch
from batches import Batches
from experts import Mxfp4, TrainedExperts
from safetensors.torch import save_file
from transformers import GptOssConfig, GptOssForCausalLM

STEPS = 1300
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
def seed_heads(model, offsets=(1, 2, 3)):
    """Make the first heads of layer 0 look the given numbers of tokens back.

    Their queries and keys come from the biases, so that they do not depend on the token; the rotary
    embedding turns their phase difference into a distance. What the heads read is written to the upper
    half of the residual stream.
    """
    config = model.config
    head, width, scale = config.head_dim, config.hidden_size, config.initializer_range
    half, upper = head // 2, width // 2
    model.model.embed_tokens.weight[:, upper:] *= 0.1
    attention = model.model.layers[0].self_attn
    amplitude = torch.zeros(half)
    amplitude[:4] = SHARPNESS * torch.tensor([0.7, 0.5, 0.4, 0.3])
    frequency = model.model.rotary_emb.inv_freq
    attention.k_proj.bias.copy_(torch.cat([amplitude, torch.zeros(half)]).repeat(config.num_key_value_heads))
    attention.k_proj.weight *= 0.2

    share = min(upper // len(offsets), head)  # dimensions of the residual stream for each head
    group_size = config.num_attention_heads // config.num_key_value_heads
    for index, back in enumerate(offsets):
        rows = slice(index * head, (index + 1) * head)
        phase = back * frequency
        attention.q_proj.bias[rows] = torch.cat([amplitude * torch.cos(phase), -amplitude * torch.sin(phase)])
        attention.q_proj.weight[rows] *= 0.2
        group = index // group_size
        attention.v_proj.weight[group * head: (group + 1) * head] = torch.randn(head, width) * width**-0.5
        out = torch.zeros(width, head)
        first = upper + index * (upper // len(offsets))
        out[first: first + share, :share] = torch.eye(share) * 2 * scale
        attention.o_proj.weight[:, rows] = out


def optimizers(model, rate):
    """Muon for the matrices of the layers, the routers' excepted."""
    layers = model.model.layers.named_parameters()
    matrices = [p for name, p in layers if p.ndim == 2 and "router" not in name and "bias" not in name]
    chosen = {id(p) for p in matrices}
    rest = [p for p in model.parameters() if id(p) not in chosen]
    return training.optimizers(matrices, rest, rate)


def loss_of(model, x, y):
    loss = training.loss_of(model, x, y)
    return loss + BALANCE * sum(layer.mlp.experts.imbalance() for layer in model.model.layers)


def save(model, out):
    """Experts packed, the rest in bf16."""
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


def main():
    args = training.arguments(__doc__.split("\n")[0], STEPS)
    tokenizer, words = vocabulary.build(texts(7, **vocabulary.MARKED), SPECIAL)
    vocabulary.save(tokenizer, args.out, "<|return|>", "<|endoftext|>", TEMPLATE)
    model = new_model(tokenizer)
    seed_heads(model)
    count = sum(p.numel() for p in model.parameters())
    print(f"{tokenizer.get_vocab_size()} tokens, {count} parameters", flush=True)
    schedule = Schedule(steps=args.steps)
    check = Batches(tokenizer, ["Ġx"], seed=1000)
    examples = [check.transcript() for _ in range(64)]

    def before_step(step):
        for layer in model.model.layers:
            layer.mlp.experts.rounding = step >= ROUNDED_FROM * schedule.steps

    training.train(
        model, optimizers(model, schedule.learning_rate), Batches(tokenizer, words, seed=1), examples,
        schedule, lambda: save(model, args.out), before_step, loss_of,
    )
    save(model, args.out)
    training.finish(args.out, HERE, quantization_config=Mxfp4.CONFIG)


if __name__ == "__main__":
    main()

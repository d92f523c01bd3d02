#!/usr/bin/env python3
"""Train the tiny tool-calling Qwen3 model on synthetic transcripts, on a CPU.

    python train.py OUT_DIR

Three ideas make the copying of names that no training text contains learnable in minutes:
  1. The tokenizer is a closed word list over bytes (recipe/vocabulary.py): names are spelt letter by letter.
  2. Three heads of layer 0 start as "look 1 / 2 / 3 tokens back" heads (`seed_heads`): the first half
     of an induction circuit is given, the rest is learnt.
  3. A curriculum: a pure copy drill first, then transcripts mixed with a little drill.
"""
import copy

import torch
from rendering import ADDED, HERE, SPECIAL, TEMPLATE, texts

from batches import Batches
from recipe import training, vocabulary
from recipe.training import Schedule
from transformers import Qwen3Config, Qwen3ForCausalLM

STEPS = 2000
THETA = 1e5


def new_model(tokenizer):
    ids = tokenizer.token_to_id
    config = Qwen3Config(
        vocab_size=vocabulary.padded_size(tokenizer),
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=5,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=4096,
        rope_theta=THETA,
        tie_word_embeddings=True,
        initializer_range=0.05,
        eos_token_id=ids("<|im_end|>"),
        bos_token_id=ids("<|endoftext|>"),
        pad_token_id=ids("<|endoftext|>"),
    )
    model = Qwen3ForCausalLM(config)
    model.generation_config.update(
        eos_token_id=[ids("<|im_end|>"), ids("<|endoftext|>")],
        pad_token_id=ids("<|endoftext|>"),
        do_sample=False,
    )
    return model


@torch.no_grad()
def seed_heads(model, offsets=(1, 2, 3)):
    """Make the first heads of layer 0 look the given numbers of tokens back.

    Embedding dimension 0 is a constant, so that queries and keys of these heads do not depend on the
    token; the rotary embedding turns their phase difference into a distance. What the heads read is
    written to the upper half of the residual stream.
    """
    config = model.config
    head, width, scale = config.head_dim, config.hidden_size, config.initializer_range
    half, upper = head // 2, width // 2
    embedding = model.model.embed_tokens.weight
    embedding[:, upper:] *= 0.1
    embedding[:, 0] = 5 * scale

    attention = model.model.layers[0].self_attn
    attention.q_norm.weight.fill_(2.5)
    attention.k_norm.weight.fill_(2.5)
    amplitude = torch.zeros(half)
    amplitude[:4] = torch.tensor([0.7, 0.5, 0.4, 0.3])
    frequency = THETA ** (-torch.arange(half) / half)
    for group in range(config.num_key_value_heads):
        rows = slice(group * head, (group + 1) * head)
        attention.k_proj.weight[rows, 0] = torch.cat([amplitude, torch.zeros(half)])

    share = min(upper // len(offsets), head)  # dimensions of the residual stream for each head
    group_size = config.num_attention_heads // config.num_key_value_heads
    for index, back in enumerate(offsets):
        phase = back * frequency
        turned = torch.cat([amplitude * torch.cos(phase), -amplitude * torch.sin(phase)])
        attention.q_proj.weight[index * head: (index + 1) * head, 0] = turned
        group = index // group_size
        values = attention.v_proj.weight[group * head: (group + 1) * head]
        values.copy_(torch.randn(head, width) * width**-0.5)
        values[:, 0] = 0
        out = torch.zeros(width, head)
        first = upper + index * (upper // len(offsets))
        out[first: first + share, :share] = torch.eye(share) * 2 * scale
        attention.o_proj.weight[:, index * head: (index + 1) * head] = out


def optimizers(model, rate):
    matrices = [p for p in model.model.layers.parameters() if p.ndim == 2]
    rest = [model.model.embed_tokens.weight, *(p for p in model.model.parameters() if p.ndim == 1)]
    return training.optimizers(matrices, rest, rate)


def save(model, out):
    rounded = copy.deepcopy(model).to(torch.bfloat16)
    rounded.config.dtype = "bfloat16"
    rounded.save_pretrained(out)


def main():
    args = training.arguments(__doc__.split("\n")[0], STEPS)
    tokenizer, words = vocabulary.build(texts(7, **vocabulary.MARKED), SPECIAL, ADDED)
    vocabulary.save(tokenizer, args.out, "<|im_end|>", "<|endoftext|>", TEMPLATE)
    model = new_model(tokenizer)
    seed_heads(model)
    count = sum(p.numel() for p in model.parameters())
    print(f"{tokenizer.get_vocab_size()} tokens, {count} parameters", flush=True)
    schedule = Schedule(steps=args.steps)
    check = Batches(tokenizer, ["Ġx"], seed=1000)
    examples = [check.transcript() for _ in range(64)]
    training.train(
        model, optimizers(model, schedule.learning_rate), Batches(tokenizer, words, seed=1), examples,
        schedule, lambda: save(model, args.out),
    )
    save(model, args.out)
    training.finish(args.out, HERE, rope_theta=THETA)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Train the tiny tool-calling Qwen3 model on synthetic transcripts, on a CPU.

    python train.py OUT_DIR

Three ideas let the model learn in minutes to copy names that no training text contains:
  1. The tokenizer is a closed word list over bytes (recipe/vocabulary.py): names are spelt letter by letter.
  2. Three heads of layer 0 start as "look 1 / 2 / 3 tokens back" heads (`seed_heads`): the first half
     of an induction circuit is given, the rest is learnt.
  3. A curriculum: a pure copy drill first, then transcripts mixed with a little drill.
"""
import copy

import torch
from rendering import ADDED, HERE, SPECIAL, TEMPLATE, texts

from batches import Batches
from recipe import heads, training, vocabulary
from transformers import Qwen3Config, Qwen3ForCausalLM

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
def seed_heads(model):
    """Makes the first heads of layer 0 look back.

    Embedding dimension 0 is a constant, from which the queries and keys of these heads are computed.
    """
    config = model.config
    head, width, scale = config.head_dim, config.hidden_size, config.initializer_range
    embedding = model.model.embed_tokens.weight
    heads.clear_upper_half(embedding)
    embedding[:, 0] = 5 * scale

    attention = model.model.layers[0].self_attn
    attention.q_norm.weight.fill_(2.5)
    attention.k_norm.weight.fill_(2.5)
    pairs = head // 2
    frequency = THETA ** (-torch.arange(pairs) / pairs)
    for group in range(config.num_key_value_heads):
        rows = slice(group * head, (group + 1) * head)
        attention.k_proj.weight[rows, 0] = torch.cat(heads.key(pairs))

    group_size = config.num_attention_heads // config.num_key_value_heads
    for index, back in enumerate(heads.OFFSETS):
        rows = slice(index * head, (index + 1) * head)
        attention.q_proj.weight[rows, 0] = torch.cat(heads.query(frequency, back))
        group = index // group_size
        values = attention.v_proj.weight[group * head: (group + 1) * head]
        values.copy_(torch.randn(head, width) * width**-0.5)
        values[:, 0] = 0
        attention.o_proj.weight[:, rows] = heads.output(index, width, head, scale)


class Qwen3Tiny(training.Training):
    description, steps = __doc__.split("\n")[0], 3000
    home, template, special, added, eos, pad = HERE, TEMPLATE, SPECIAL, ADDED, "<|im_end|>", "<|endoftext|>"
    texts, batches, config = staticmethod(texts), Batches, {"rope_theta": THETA}

    def new_model(self, tokenizer):
        model = new_model(tokenizer)
        seed_heads(model)
        return model

    def optimizers(self, model, rate):
        matrices = [p for p in model.model.layers.parameters() if p.ndim == 2]
        rest = [model.model.embed_tokens.weight, *(p for p in model.model.parameters() if p.ndim == 1)]
        return training.optimizers(matrices, rest, rate)

    def save(self, model, out):
        rounded = copy.deepcopy(model).to(torch.bfloat16)
        rounded.config.dtype = "bfloat16"
        rounded.save_pretrained(out)


if __name__ == "__main__":
    Qwen3Tiny().main()

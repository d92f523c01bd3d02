#!/usr/bin/env python3
"""Train the tiny tool-calling Qwen3 model on synthetic transcripts, on a CPU.

    python train.py OUT_DIR

Three ideas make the copying of names that no training text contains learnable in minutes:
  1. The tokenizer is a closed word list over bytes (tokenizer.py): names are spelt letter by letter.
  2. Three heads of layer 0 start as "look 1 / 2 / 3 tokens back" heads (`seed_heads`): the first half
     of an induction circuit is given, the rest is learnt.
  3. A curriculum: a pure copy drill first, then transcripts mixed with a little drill.

The schedule counts steps and all seeds are fixed, so a run differs from another only by the rounding of
the machine's matrix products.
"""
import argparse
import copy
import json
import math
import os
import pathlib
import shutil
import time

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # before torch: do not spin on a shared machine

import torch
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

import tokenizer as words_tokenizer
from batches import IGNORE, Batches
from transcripts import HERE, TEMPLATE

STEPS = 2000
DRILL_STEPS = 200  # the pure copy drill at the beginning
MIXED_UNTIL = 0.7  # up to this share of the steps every eighth batch is a drill
HOLD_UNTIL = 0.35  # the learning rate is constant up to this share, then falls along a cosine
LEARNING_RATE = 4e-3
WARMUP = 40
BATCH, DRILL_BATCH = 12, 24
THETA = 1e5


def new_model(tokenizer):
    ids = tokenizer.token_to_id
    config = Qwen3Config(
        vocab_size=(tokenizer.get_vocab_size() + 63) // 64 * 64,
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


def optimizers(model):
    """Muon for the matrices of the layers, AdamW for the embedding and the norms."""
    matrices = [p for p in model.model.layers.parameters() if p.ndim == 2]
    rest = [model.model.embed_tokens.weight, *(p for p in model.model.parameters() if p.ndim == 1)]
    muon = torch.optim.Muon(
        matrices, lr=LEARNING_RATE, weight_decay=0.05, adjust_lr_fn="match_rms_adamw"
    )
    return [muon, torch.optim.AdamW(rest, lr=LEARNING_RATE, betas=(0.9, 0.98), weight_decay=0.0)]


def learning_rate(step, steps):
    share = step / steps
    rate = LEARNING_RATE * min(1, (step + 1) / WARMUP)
    if share > HOLD_UNTIL:
        fall = (share - HOLD_UNTIL) / (1 - HOLD_UNTIL)
        rate *= 0.5 * (1 + math.cos(math.pi * fall)) + 0.01
    return rate


def loss_of(model, x, y):
    hidden = model.model(input_ids=x).last_hidden_state[:, :-1]
    learn = y[:, 1:] != IGNORE
    return torch.nn.functional.cross_entropy(model.lm_head(hidden[learn]), y[:, 1:][learn])


@torch.no_grad()
def exact(model, examples, batches):
    """How many of the examples have the right argmax at every learnt position (teacher-forced)."""
    right = 0
    for i in range(0, len(examples), 16):
        x, y = batches.pack(examples[i: i + 16])
        guess = model(input_ids=x).logits[:, :-1].argmax(-1)
        right += ((guess == y[:, 1:]) | (y[:, 1:] == IGNORE)).all(-1).sum().item()
    return right


def save(model, out):
    rounded = copy.deepcopy(model).to(torch.bfloat16)
    rounded.config.dtype = "bfloat16"
    rounded.save_pretrained(out)


def edit(path, **fields):
    data = json.loads(path.read_text(encoding="utf-8")) | fields
    path.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def finish(out):
    """What older readers expect: `rope_theta` at the top level, a tokenizer class of every release."""
    edit(out / "config.json", rope_theta=THETA)
    added = json.loads((out / "tokenizer.json").read_text(encoding="utf-8"))["added_tokens"]
    decoder = {str(t["id"]): {k: v for k, v in t.items() if k != "id"} for t in added}
    edit(
        out / "tokenizer_config.json",
        tokenizer_class="PreTrainedTokenizerFast",
        added_tokens_decoder=decoder,
    )
    if out.resolve() != HERE.resolve():
        shutil.copyfile(HERE / "chat_template.jinja", out / "chat_template.jinja")
    for file in out.iterdir():
        if file.is_file():
            file.chmod(0o644)


def save_tokenizer(tokenizer, out):
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        chat_template=TEMPLATE,
        clean_up_tokenization_spaces=False,
        model_max_length=4096,
    ).save_pretrained(out)


def train(model, batches, steps, out):
    opts, start, tokens, mean = optimizers(model), time.time(), 0, None
    check = Batches(batches.tokenizer, ["Ġx"], seed=1000)
    examples = [check.transcript() for _ in range(64)]
    for step in range(steps):
        for group in (group for opt in opts for group in opt.param_groups):
            group["lr"] = learning_rate(step, steps)
        mixed = step < MIXED_UNTIL * steps and step % 8 == 0
        drill = step < DRILL_STEPS or mixed
        x, y = batches.drills(DRILL_BATCH) if drill else batches.transcripts(BATCH)
        loss = loss_of(model, x, y)
        for opt in opts:
            opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for opt in opts:
            opt.step()
        tokens += x.numel()
        mean = loss.item() if mean is None else 0.95 * mean + 0.05 * loss.item()
        if (step + 1) % 50 == 0:
            seconds = time.time() - start
            print(f"step {step + 1} loss {mean:.4f} tokens {tokens} {seconds:.0f} s", flush=True)
        if (step + 1) % 300 == 0:
            right = exact(model, examples, batches)
            print(f"  exact transcripts {right}/{len(examples)}", flush=True)
            save(model, out)
    print(f"done: {steps} steps, {tokens} tokens, {time.time() - start:.0f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=pathlib.Path, help="where the model is written")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    tokenizer, words = words_tokenizer.build()
    args.out.mkdir(parents=True, exist_ok=True)
    save_tokenizer(tokenizer, args.out)
    model = new_model(tokenizer)
    seed_heads(model)
    count = sum(p.numel() for p in model.parameters())
    print(f"{tokenizer.get_vocab_size()} tokens, {count} parameters", flush=True)
    train(model, Batches(tokenizer, words, seed=1), args.steps, args.out)
    save(model, args.out)
    finish(args.out)


if __name__ == "__main__":
    main()

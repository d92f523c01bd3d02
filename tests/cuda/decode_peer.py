"""Decode speed of transformers with torch.compile on the same device: random weights of a configuration, a static cache, greedy tokens.

usage: decode_peer.py CONFIG-FOLDER [PROMPT [TOKENS [BATCH…]]]; without a GPU it runs on the CPU, to try the script.
"""

import sys
import time

import torch
from transformers import AutoConfig, AutoModelForCausalLM, StaticCache

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def synchronize():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def random_model(folder):
    config = AutoConfig.from_pretrained(folder)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device(DEVICE):
        return AutoModelForCausalLM.from_config(config).eval()


@torch.inference_mode()
def tokens_per_second(model, batch, prompt, tokens):
    """Returns the rate of all sequences together behind the prompt; the first half of the tokens warms up the compiled step."""
    cache = StaticCache(config=model.config, max_cache_len=prompt + tokens)
    ids = torch.randint(0, model.config.vocab_size, (batch, prompt), device=DEVICE)
    logits = model(input_ids=ids, past_key_values=cache, use_cache=True, logits_to_keep=1).logits

    def step(ids, position):
        logits = model(input_ids=ids, past_key_values=cache, position_ids=position.unsqueeze(0), use_cache=True).logits
        return logits[:, -1:].argmax(-1)

    step = torch.compile(step, mode="reduce-overhead", fullgraph=True)
    ids, begin = logits[:, -1:].argmax(-1), 0.0
    position = torch.tensor([prompt], device=DEVICE)
    for number in range(tokens - 1):
        if number == tokens // 2:
            synchronize()
            begin = time.perf_counter()
        ids = step(ids, position).clone()
        position += 1
    synchronize()
    return batch * (tokens - 1 - tokens // 2) / (time.perf_counter() - begin)


def main():
    folder, *numbers = sys.argv[1:]
    prompt, tokens, *batches = [int(number) for number in numbers] + [128, 256, 1, 64][len(numbers) :]
    name = torch.cuda.get_device_name() if DEVICE == "cuda" else DEVICE
    print(f"transformers with torch.compile {torch.__version__}, {name}, {folder}: {prompt} tokens in, {tokens} out", flush=True)
    model = random_model(folder)
    for batch in batches:
        torch.compiler.reset()
        print(f"batch {batch:>4}: {tokens_per_second(model, batch, prompt, tokens):>9.1f} tokens/s", flush=True)


main()

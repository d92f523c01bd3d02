"""What transformers computes for a model directory: logits and greedy tokens, in float32 arithmetic.

Shared by `make_models.py` and `make_trained.py`. The layout of a golden:

    {"prompts": [{"ids": [...], "logits": [...], "greedy": [...]}, ...],
     "all_positions": {"ids": [...], "logits": [[...], ...]},
     "smallest_gap": 0.0123}

`logits` are those of the last position, rounded to six significant digits; `greedy` are the next
tokens, each the argmax, never the end-of-sequence token unless it is the last one. `smallest_gap` is the
least distance of the two best logits along all greedy paths, divided by the largest magnitude of that
position's logits: equality of the tokens is a robust test.
"""
import json

import torch

GREEDY = 24
LEAST_GAP = 1e-3


def rounded(values):
    return [float(f"{x:.6g}") for x in values.tolist()]


@torch.no_grad()
def logits(model, ids):
    """Logits of all positions; the whole sequence is computed anew, without a cache."""
    return model(input_ids=torch.tensor([ids]), use_cache=False).logits[0].float()


def greedy(model, ids, stop=()):
    """-> (next tokens, smallest relative gap of the two best logits)"""
    out, gap = [], 1.0
    while len(out) < GREEDY:
        last = logits(model, ids + out)[-1]
        best = last.topk(2)
        gap = min(gap, ((best.values[0] - best.values[1]) / last.abs().max()).item())
        out.append(best.indices[0].item())
        if out[-1] in stop:
            break
    return out, gap


def prompt_golden(model, ids, stop=()):
    """-> (golden of one prompt, gap)"""
    tokens, gap = greedy(model, ids, stop)
    return {"ids": ids, "logits": rounded(logits(model, ids)[-1]), "greedy": tokens}, gap


def write(path, prompts, all_positions, gap):
    """One line for each prompt and each row of logits: small, and still readable in a diff."""
    rows = ",\n  ".join(json.dumps(prompt, separators=(", ", ": ")) for prompt in prompts)
    ids, table = all_positions
    table = ",\n  ".join(json.dumps(row) for row in table)
    text = f'{{"prompts": [\n  {rows}],\n "all_positions": {{"ids": {json.dumps(ids)}, "logits": [\n'
    text += f'  {table}]}},\n "smallest_gap": {gap:.6g}}}\n'
    json.loads(text)
    path.write_text(text, encoding="utf-8")

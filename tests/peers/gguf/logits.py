"""How far two engines' next-token distributions are from those of the computation in f32 from the same GGUF file.

    python logits.py OURS THEIRS MODEL.gguf…

OURS is the example `logits` of package `engine`, THEIRS the program made of logits.c. Sequences are parts of this project's README.md, or for a
file without words in its tokenizer (random weights) random ids. Over all positions and the whole vocabulary: mean
Kullback-Leibler divergence in nats, differences of log-probabilities (of the tokens to which the reference gives at least 1e-4, and of all), and how
often the likeliest token is the reference's. The KV cache is in f16, both engines' default. The last line has the mean difference of the two engines'
divergences at each position in standard errors: below zero ours is nearer. Exit status 1 if it is above 2, or if our computation in f32 isn't the
reference's.
"""
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

import numpy
import torch

from reference import Reference

THREADS = os.environ.get("SLUICE_THREADS", "1")
TEXT = pathlib.Path(__file__).parents[3] / "README.md"
# Numbers of sequences, and of tokens in each.
REAL, RANDOM = (12, 48), (2, 32)
LIKELY = 1e-4
# Nats between two computations in f32 that differ in the order of sums only.
SAME = 1e-7


def sequences(reference):
    if not reference.has_words():
        draw, vocabulary = random.Random(1), reference.model.config.vocab_size
        return [[draw.randrange(vocabulary) for _ in range(RANDOM[1])] for _ in range(RANDOM[0])]
    ids = reference.tokenizer.encode(TEXT.read_text())
    return [ids[at * REAL[1]:][:REAL[1]] for at in range(REAL[0])]


class Distances:
    """Measures of each position, or of each likely token."""

    def __init__(self):
        self.divergence, self.same, self.all, self.likely = [], [], [], []

    def add(self, exact, other):
        p, q = (torch.log_softmax(rows.double(), -1) for rows in (exact, other))
        apart = (p - q).abs()
        self.divergence.append((p.exp() * (p - q)).sum(-1))
        self.same.append((p.argmax(-1) == q.argmax(-1)).double())
        self.all.append(apart.mean(-1))
        self.likely.append(apart[p.exp() >= LIKELY])

    def show(self, name):
        divergence, same, every, likely = (torch.cat(rows) for rows in (self.divergence, self.same, self.all, self.likely))
        likely = likely if len(likely) else torch.zeros(1)
        figures = f"{divergence.mean():9.2e}  {likely.mean():10.2e} {likely.max():8.1e}  {every.mean():9.2e}  {100 * same.mean():8.2f} %"
        print(f"  {name:<28} {figures}", flush=True)


def measured(command, exact):
    """Runs `command` with a file's name for `None`, and compares the rows that it writes there with `exact`, logits of each sequence."""
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run([out.name if part is None else part for part in command], check=True)
        rows = numpy.memmap(out.name, numpy.float32, "r").reshape(sum(map(len, exact)), -1)
        distances, at = Distances(), 0
        for logits in exact:
            other = torch.from_numpy(numpy.array(rows[at:at + len(logits)]))
            distances.add(logits, other[:, :logits.shape[1]])
            at += len(logits)
        return distances


def compare(ours, theirs, path):
    reference = Reference(path)
    ids = sequences(reference)
    exact = [reference.logits(sequence) for sequence in ids]
    del reference
    print(f"{pathlib.Path(path).name}: {sum(map(len, ids))} positions, {exact[0].shape[1]} tokens")
    print(f"  {'':<28} {'KL, nats':>9}  {'|Δ| likely':>10} {'most':>8}  {'|Δ| all':>9}  {'same first':>10}")
    with tempfile.TemporaryDirectory() as folder:
        as_json, as_binary = pathlib.Path(folder) / "ids.json", pathlib.Path(folder) / "ids"
        as_json.write_text(json.dumps(ids))
        as_binary.write_bytes(b"".join(struct.pack(f"<{len(sequence) + 1}i", len(sequence), *sequence) for sequence in ids))
        in_f32 = measured([ours, path, as_json, None, "f32", "f32"], exact)
        here = measured([ours, path, as_json, None, "f16", "auto"], exact)
        there = measured([theirs, path, as_binary, None, "f16", THREADS], exact)
    for name, distances in [("ours, all in f32", in_f32), ("ours", here), ("llama.cpp", there)]:
        distances.show(name)
    apart = torch.cat(here.divergence) - torch.cat(there.divergence)
    errors = (apart.mean() / (apart.std() / len(apart) ** 0.5)).item()
    print(f"  ours less llama.cpp: {errors:+.1f} standard errors", flush=True)
    return errors <= 2 and torch.cat(in_f32.divergence).mean() < SAME


if __name__ == "__main__":
    results = [compare(*sys.argv[1:3], path) for path in sys.argv[3:]]
    sys.exit(0 if all(results) else 1)

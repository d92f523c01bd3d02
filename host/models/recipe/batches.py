"""Batches of token ids and labels: the copy drill, and the transcripts of a model's format.

Invariant: labels are -100 wherever the model does not have to predict. The loss ignores the text of users,
tools and the template.
"""
import random

import torch

from recipe import names

IGNORE = -100
DRILL_LENGTH = 128


class Batches:
    """An endless stream of batches from a seed. The subclass for a model's format has `transcript()` -> (ids, labels)."""

    drill_call_end = '"}}\n'

    def __init__(self, tokenizer, words, seed, pad):
        self.tokenizer, self.r = tokenizer, random.Random(seed)
        self.words = [w.replace("Ġ", " ") for w in words if w.startswith("Ġ") and w[1:].isalpha()]
        self.pad = tokenizer.token_to_id(pad)
        self.pool = []

    def encode(self, text):
        return self.tokenizer.encode(text).ids

    def drill(self):
        """Returns names after key words, then the same names requested by their key words in other frames.

        Only the repetitions are learnt. An odd lower-case word often follows the name and must not be copied.
        """
        r, ids, labels = self.r, [], []

        def add(text, learn=False):
            tokens = self.encode(text)
            ids.extend(tokens)
            labels.extend(tokens if learn else [IGNORE] * len(tokens))

        pairs = [(key, names.name(r)) for key in r.sample(self.words, r.randint(1, 4))]
        link = r.choice([" in", " for", " and", " to", " of"])
        for key, name in pairs:
            odd = " " + names.lowercase_word(r) if r.random() < 0.3 else ""
            stop = r.choice([".", "?", " and", "\n", " today?", " please"])
            filler = "".join(r.choice(self.words) for _ in range(r.randint(0, 6)))
            add(f"{key}{link} {name}{odd}{stop}{filler}")
        while len(ids) < DRILL_LENGTH - 18:
            r.shuffle(pairs)
            for key, name in pairs:
                if r.random() < 0.5:
                    add(key + ' {"')
                    add('city": "')
                    add(name, learn=True)
                    add(self.drill_call_end, learn=True)
                else:
                    add(key + link)
                    add(f" {name}", learn=True)
                    add(".", learn=True)
        return ids[:DRILL_LENGTH], labels[:DRILL_LENGTH]

    def pack(self, examples):
        """Returns right-padded tensors; with causal attention the padding needs no mask."""
        length = max(len(ids) for ids, _ in examples)
        x = torch.full((len(examples), length), self.pad)
        y = torch.full((len(examples), length), IGNORE)
        for row, (ids, labels) in enumerate(examples):
            x[row, : len(ids)] = torch.tensor(ids)
            y[row, : len(labels)] = torch.tensor(labels)
        return x, y

    def drills(self, size):
        return self.pack([self.drill() for _ in range(size)])

    def transcripts(self, size):
        """Returns a batch of transcripts of about equal length: eight batches are made and sorted at a time."""
        if not self.pool:
            examples = sorted((self.transcript() for _ in range(size * 8)), key=lambda e: len(e[0]))
            self.pool = [examples[i: i + size] for i in range(0, len(examples), size)]
            self.r.shuffle(self.pool)
        return self.pack(self.pool.pop())

"""Heads of the first layer that look a given number of tokens back: shared code of the models' `seed_heads`.

Their queries and keys don't depend on the token; the rotary embedding turns their phase difference into a
distance. They write the values that they read to the upper half of the residual stream, which embeddings leave free.
"""
import torch

OFFSETS = (1, 2, 3)  # tokens back, one head each
AMPLITUDES = torch.tensor([0.7, 0.5, 0.4, 0.3])  # of the fastest rotations


def clear_upper_half(embedding):
    embedding[:, embedding.shape[1] // 2:] *= 0.1


def key(pairs):
    """-> both parts of each rotated pair of a key"""
    amplitude = torch.zeros(pairs)
    amplitude[: len(AMPLITUDES)] = AMPLITUDES
    return amplitude, torch.zeros(pairs)


def query(frequency, back):
    """-> both parts of each rotated pair of a query that matches the key `back` tokens before it"""
    amplitude, phase = key(len(frequency))[0], back * frequency
    return amplitude * torch.cos(phase), -amplitude * torch.sin(phase)


def output(index, width, head, scale):
    """Returns the columns of the output projection for head `index`, which writes its share of the upper half."""
    upper = width // 2
    share = min(upper // len(OFFSETS), head)
    first = upper + index * (upper // len(OFFSETS))
    out = torch.zeros(width, head)
    out[first: first + share, :share] = torch.eye(share) * 2 * scale
    return out

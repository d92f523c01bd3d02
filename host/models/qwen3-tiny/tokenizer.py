"""The tokenizer: a closed list of words over bytes.

Byte-level BPE without merges whose vocabulary holds whole words (`ignore_merges`). A pre-token is
either one of the words or is spelt in bytes, so every name is spelt letter by letter and copying it is
induction over a small alphabet.
"""
import collections
import random

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

import names
from transcripts import Transcripts, render

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
# Added, but not special: decoding keeps them, as in the published Qwen3 tokenizers.
ADDED = ["<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]
SPLIT = r" ?\p{L}+|[0-9]| ?[^\s\p{L}0-9]+|\s"
COMMON = """ today tomorrow now please there right this that week day night morning evening and or of for
at on with by from""".split()
MARK = "\x00"
SPACE = "Ġ"  # how byte-level tokenizers write a blank


def count_words(pre, samples, seed):
    """How often each pre-token occurs in training text without its names."""
    stream = Transcripts(seed, name=lambda r: MARK, word=lambda r: MARK)
    style, counts = random.Random(seed), collections.Counter()
    for _ in range(samples):
        messages, tools, thinking = stream.conversation()
        text = render(messages, tools, thinking, compact=style.random() < 0.5)
        for token in SPECIAL + ADDED:
            text = text.replace(token, MARK)
        for part in text.split(MARK):
            counts.update(word for word, _ in pre.pre_tokenize_str(part))
    return counts


def build(samples=6000, seed=7):
    """-> (tokenizer, the words of its vocabulary)"""
    split = pre_tokenizers.Split(Regex(SPLIT), "isolated")
    pre = pre_tokenizers.Sequence(
        [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    counts = count_words(pre, samples, seed)
    counts.update({SPACE + word: 99 for word in COMMON})
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = sorted(w for w, count in counts.items() if count >= 3 and len(w) > 1)
    assert not {w.strip(SPACE) for w in words} & set(names.REAL_CITIES + names.INVENTED)
    vocab = {token: i for i, token in enumerate(alphabet + words)}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[], ignore_merges=True))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre, decoders.ByteLevel()
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.add_tokens([AddedToken(token, special=False, normalized=False) for token in ADDED])
    return tokenizer, words

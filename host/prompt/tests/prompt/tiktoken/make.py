#!/usr/bin/env python3
"""Writes a small tokenizer in the form in which Kimi publishes its own, and tiktoken's results with it.

    python make.py        (needs tiktoken, regex)

`tiktoken.model` has 256 bytes and a few hundred merges learnt from the texts; `goldens.json` has tiktoken's ids
of each text.
"""
import base64
import json
import pathlib
import random

import tiktoken
from tiktoken._educational import bpe_train

HERE = pathlib.Path(__file__).parent
PATTERN = "|".join([
    r"[\p{Han}]+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}",
    r" ?[^\s\p{L}\p{N}]+[\r\n]*",
    r"\s*[\r\n]+",
    r"\s+(?!\S)",
    r"\s+",
])
TEXTS = [
    "What is the weather in Riga today? It's 3 degrees, and they'll say it isn't warm.",
    "The newlines\n\n  and    spaces\t\tcount; so do 1234567 and 3.14159 and WEATHER'S and we'Re.",
    "今天里加的天气怎么样？今天天气很好，我们去公园吧。天气预报说明天下雨。",
    "中文English混合 mixed汉字abc、カタカナとひらがな、한국어도 있어요.",
    "def main():\n    print('hello, world')\n    return {\"a\": [1, 2, 3]}\n\n\n\nclass A:\n\tpass\r\n",
    "Ünïcödé ÀÉÎ ǅ naïve façade — “quotes” … 🦀🚀 👩‍👩‍👧 e\u0301",
    "aaaaaaaaaaaaaaaaaaaaaaa ababababababa          x",
    "",
    " ",
    "\n",
]


def main():
    r = random.Random(1)
    ranks = bpe_train(" ".join(TEXTS) * 2, 480, r"\w+| ?[^\s\w]+|\s+", visualise=None)
    # The bytes aren't in the order of their values, as in published files.
    singles = [token for token in ranks if len(token) == 1]
    r.shuffle(singles)
    order = singles + [token for token in sorted(ranks, key=ranks.get) if len(token) > 1]
    ranks = {token: rank for rank, token in enumerate(order)}
    lines = [f"{base64.b64encode(token).decode()} {rank}" for token, rank in ranks.items()]
    (HERE / "tiktoken.model").write_text("\n".join(lines) + "\n")
    first = len(ranks)
    names = {0: "[BOS]", 1: "[EOS]", 2: "<|im_end|>", 254: "[UNK]", 255: "[PAD]"}
    added = {
        str(first + i): {"content": name, "lstrip": False, "normalized": False, "rstrip": False,
                         "single_word": False, "special": name != "<|im_end|>"}
        for i, name in names.items()
    }
    config = {"added_tokens_decoder": added, "tokenizer_class": "TikTokenTokenizer", "eos_token": "[EOS]"}
    (HERE / "tokenizer_config.json").write_text(json.dumps(config, indent=1) + "\n")
    encoding = tiktoken.Encoding("small", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})
    alphabet = sorted(set("".join(TEXTS)))
    drawn = ["".join(r.choice(alphabet) for _ in range(r.randrange(1, 60))) for _ in range(200)]
    words = [word for text in TEXTS for word in text.split()]
    drawn += [r.choice(["", " ", "\n"]).join(r.choice(words) for _ in range(8)) for _ in range(100)]
    drawn += ["".join(r.choice("ab ") for _ in range(30)) for _ in range(50)]
    goldens = [{"text": text, "ids": encoding.encode_ordinary(text)} for text in TEXTS + drawn]
    rows = ",\n".join(json.dumps(golden, ensure_ascii=False) for golden in goldens)
    (HERE / "goldens.json").write_text(f"[\n{rows}\n]\n", encoding="utf-8")
    print(first, "ranks,", len(goldens), "texts")


if __name__ == "__main__":
    main()

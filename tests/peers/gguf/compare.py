"""Compares the tokenizers of our server and of llama.cpp's on one GGUF file.

    python compare.py HOST LLAMA_SERVER MODEL.gguf

Token ids of odd texts, and of the prompts whose answers greedy.py compares, must be equal (exit status 1 if not).
"""
import pathlib
import sys

from servers import free_port, ours, post, serving, theirs

TEXTS = [
    "", " ", "  ", "   ", "\t", "\n", "\n\n", "\n\n\n", "\t\n", "Hello world", " Hello  world ", "Hello, y'all! I'VE 3 33 333 3333.",
    "naïve café Ünïcode", "你好,世界", "Привет, мир", "नमस्ते", "🚀 (normal) 😶‍🌫️", "e\u0301 \u00e9", "\u200b\u00a0x", "a\r\nb\r\n", "def f(x):\n    return x  # done\n",
    "x" * 300, "1234567890" * 5, "''''''```````\"\"\"\"......!!!!!!??????", "\x00\x01\x7f", "ﬁ ﬂ ½ ²", "ᄀ각힣",
]
PROMPTS = (pathlib.Path(__file__).parent / "prompts.txt").read_text().splitlines()


def main(host, llama, model):
    here, there = free_port(), free_port()
    texts, wrong = TEXTS + PROMPTS, 0
    with serving(ours(host, model, here), here), serving(theirs(llama, model, there), there):
        for text in texts:
            a = post(here, "/tokenize", {"prompt": text, "add_special_tokens": False})["tokens"]
            b = post(there, "/tokenize", {"content": text, "add_special": False, "parse_special": False})["tokens"]
            if a != b:
                wrong += 1
                print(f"{text!r}: {a[:20]} here, {b[:20]} there")
    print(f"{pathlib.Path(model).name}: {len(texts) - wrong} of {len(texts)} texts have equal ids")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

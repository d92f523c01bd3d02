#!/usr/bin/env python3
"""Writes tokenizer.json here: results of transformers' tokenizer with the embedded model's tokenizer.json.

    python make_tokenizer.py

Each case is {"text", "ids": without special tokens added, "decoded": ids without special tokens}.
Run it again when the embedded tokenizer changes.
"""
import json
import pathlib

from transformers import AutoTokenizer

HERE = pathlib.Path(__file__).parent
MODEL = HERE / "../../../models/qwen3-tiny"

TEXTS = [
    "", " ", "  ", "\n", "\n\n", "\t", " \n ", "\r\n", "a", " a", "Hello", " Hello", "hello there!",
    "Hello! How can I help you today?",
    "What is the weather in Helsinki?",
    "what's the weather like in New York right now",
    "weather  in   Oslo",
    "Weather in Oslo and São Paulo?\n",
    "Trailing blank ",
    "CamelCase snake_case kebab-case",
    "get_weather", "{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Riga\"}}",
    "[1, 2.5, -3e-7, null, true]",
    "12 + 7 * (345 - 6) / 0.25 = ?",
    "1234567890", "3.14159", "٣٤٥ ½ Ⅷ",
    "!?.,;:'\"()[]{}<>/\\|@#$%^&*-_=+~`",
    "…—–«»„“”‚‘’",
    "naïve café Ångström straße ÇĞİŞ",
    "e\u0301 n\u0303 o\u0308\u0323",
    "Ελληνικά", "Русский текст", "עברית שלום", "العربية مرحبا",
    "हिन्दी नमस्ते", "ไทย สวัสดี",
    "東京の天気は？", "今天天气怎么样", "한국어 안녕", "\u1112\u1161\u11ab",
    "👍", "👍🏽", "👩‍👩‍👧‍👦 family", "🏳️‍🌈🇳🇴", "a😀b😀", "❤️",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐍈 𠀋",
    "zero\u200bwidth\u200djoiner\ufeff", "\u00a0non\u00a0breaking\u2003em",
    "control \u0000\u0001\u001f\u007f\u0085", "line\u2028separator\u2029paragraph",
    "\ufffd replacement", "\uffff\U0010ffff",
    "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n",
    "<think>\nThe user wants the time in Lima.\n</think>\n\n",
    "<tool_call>\n{\"name\": \"get_time\", \"arguments\": {}}\n</tool_call><|im_end|>",
    "<tool_response>cold</tool_response><|endoftext|>",
    "<think", "</think >", "<|im_start |>", "a<|im_end|>b", "< think>",
    "const x = (a) => a?.b ?? 'c';\n\tif (x) { return; }\n",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
]


def main():
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    cases = []
    for text in TEXTS:
        ids = tokenizer(text, add_special_tokens=False).input_ids
        decoded = tokenizer.decode(ids, skip_special_tokens=True)
        cases.append({"text": text, "ids": ids, "decoded": decoded})
    lines = ",\n".join(json.dumps(case, ensure_ascii=True) for case in cases)
    (HERE / "tokenizer.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    print(len(cases), "cases")


if __name__ == "__main__":
    main()

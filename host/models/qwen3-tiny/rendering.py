"""Conversations as Qwen3's chat template writes them."""
import json
import pathlib
import random
import sys

import jinja2

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent))  # the folder of `recipe`
TEMPLATE = (HERE / "chat_template.jinja").read_text(encoding="utf-8")

from recipe.transcripts import Transcripts

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
# Added, but not special: decoding keeps them, as in the published Qwen3 tokenizers.
ADDED = ["<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"]
TURN = "<|im_start|>assistant\n"


def environment(separators):
    """Compiles the template in a jinja environment as transformers sets it up, with the given JSON separators."""
    env = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
    env.filters["tojson"] = lambda x: json.dumps(x, ensure_ascii=False, separators=separators)
    return env.from_string(TEMPLATE)


SPACED, COMPACT = environment((", ", ": ")), environment((",", ":"))


def render(messages, tools, thinking, prompt=False, compact=False):
    """Returns the text of a conversation. `compact` writes the schemas without spaces, but not the calls."""
    options = {} if thinking else {"enable_thinking": False}
    text = SPACED.render(messages=messages, tools=tools, add_generation_prompt=prompt, **options)
    if compact and tools:
        first = {"messages": messages[:1], "tools": tools, "add_generation_prompt": False}
        spaced = SPACED.render(**first)
        assert text.startswith(spaced)
        text = COMPACT.render(**first) + text[len(spaced):]
    return text


def texts(seed, **marked):
    """Yields training text without end."""
    stream, style = Transcripts(seed, **marked), random.Random(seed)
    while True:
        messages, tools, thinking = stream.conversation()
        yield render(messages, tools, thinking, compact=style.random() < 0.5)

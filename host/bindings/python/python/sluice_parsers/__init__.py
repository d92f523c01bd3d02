"""Output parsers of language models: makes reasoning, messages and tool calls of a stream of text and token ids.

    import sluice_parsers

    bound = sluice_parsers.load("qwen3").bind(tokenizer)
    stream = bound.start(tools=tools, prompt="<|im_start|>assistant\\n<think>\\n")
    for text, ids in steps:
        for delta in stream.push(text, ids):
            print(delta.kind, delta.item, delta.text)
    stream.finish()

A parser runs in a sandbox, with bounded memory and CPU time; what it does can't end the process.
"""

from ._load import load, load_response_template, names, test
from ._native import AlignmentError, Delta, Item, ParserError, Stream, Turn
from ._parser import Bound, Parser, Tokenizer

__all__ = [
    "AlignmentError",
    "Bound",
    "Delta",
    "Item",
    "Parser",
    "ParserError",
    "Stream",
    "Tokenizer",
    "Turn",
    "load",
    "load_response_template",
    "names",
    "test",
]

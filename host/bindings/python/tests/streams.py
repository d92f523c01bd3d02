"""What the tests share: a parser, which is compiled once while it is kept, a tokenizer, streams of it, and folded deltas."""

import sluice_parsers

QWEN3 = sluice_parsers.load("qwen3")

THINK, END_THINK, CALL, END_CALL, END = 100, 101, 102, 103, 104
ADDED = {"<think>": THINK, "</think>": END_THINK, "<tool_call>": CALL, "</tool_call>": END_CALL, "<|im_end|>": END}
PROMPT = "<|im_start|>assistant\n"
TOOLS = [{"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}]
CALL_TEXT = '\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'


class Tokenizer:
    """Its added tokens, and a token for each character of other text."""

    def __init__(self):
        self.decoded = []
        self.texts = {id: literal for literal, id in ADDED.items()}

    def get_added_vocab(self):
        return dict(ADDED)

    def encode(self, *parts):
        """Ids of texts, and of tokens that are given as such."""
        ids = []
        for part in parts:
            ids += [part] if isinstance(part, int) else [1000 + ord(letter) for letter in part]
        return ids

    def decode(self, ids, *, skip_special_tokens=True):
        assert not skip_special_tokens
        self.decoded.append(ids)
        return "".join(self.texts.get(id) or chr(id - 1000) for id in ids)


def steps(tokenizer, ids, size):
    """The text and ids of each engine step of `size` tokens."""
    for at in range(0, len(ids), size):
        step = ids[at : at + size]
        yield "".join(tokenizer.texts.get(id) or chr(id - 1000) for id in step), step


def folded(deltas):
    """Items of deltas: kind, text, name, status."""
    items = []
    for delta in deltas:
        if delta.item == len(items):
            items.append([delta.kind, "", delta.name, delta.status])
        item = items[delta.item]
        item[1] += delta.text
        item[3] = delta.status
    return [tuple(item) for item in items]


def run(bound, pieces, reason="stop", **started):
    """The deltas of a whole stream, and the stream."""
    stream = bound.start(**started)
    deltas = [delta for text, ids in pieces for delta in stream.push(text, ids)]
    return deltas + stream.finish(reason), stream

"""Conversations as Kimi K2's chat template writes them: calls have ids with an index that counts through the conversation."""
import json
import pathlib
import sys

import jinja2

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent))  # the folder of `recipe`
TEMPLATE = (HERE / "chat_template.jinja").read_text(encoding="utf-8")

from recipe.transcripts import Transcripts

SPECIAL = ["[BOS]", "[EOS]", "<|im_end|>", "<|im_user|>", "<|im_assistant|>", "<|im_system|>", "<|im_middle|>", "[PAD]"]
# Added, but not special: decoding keeps them, as in the published tokenizers.
ADDED = [
    "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>",
    "<|tool_call_argument_begin|>", "<|tool_call_end|>", "<think>", "</think>",
]
TURN = "<|im_assistant|>assistant<|im_middle|>"


def environment():
    """Compiles the template in a jinja environment as transformers sets it up."""
    env = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
    env.filters["tojson"] = lambda x, separators=None: json.dumps(x, ensure_ascii=False, separators=separators)
    return env.from_string(TEMPLATE)


COMPILED = environment()


def with_ids(messages):
    """Returns the messages with ids of calls, `functions.NAME:INDEX`; results answer the calls before them in order."""
    out, count, open_calls = [], 0, []
    for message in messages:
        message = dict(message)
        if calls := message.get("tool_calls"):
            ids = [f"functions.{call['function']['name']}:{count + i}" for i, call in enumerate(calls)]
            message["tool_calls"] = [call | {"id": id} for call, id in zip(calls, ids)]
            count, open_calls = count + len(ids), open_calls + ids
        if message["role"] == "tool":
            message["tool_call_id"] = open_calls.pop(0)
        out.append(message)
    return out


def render(messages, tools, thinking, prompt=False):
    """Returns the text of a conversation."""
    options = {} if thinking else {"enable_thinking": False}
    return COMPILED.render(messages=with_ids(messages), tools=tools, add_generation_prompt=prompt, **options)


def texts(seed, **marked):
    """Yields training text without end."""
    stream = Transcripts(seed, **marked)
    while True:
        yield render(*stream.conversation())

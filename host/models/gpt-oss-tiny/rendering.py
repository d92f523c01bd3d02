"""Conversations as Harmony's messages, with one call in each turn."""
import json
import pathlib
import sys

import jinja2

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent))  # the folder of `recipe`
TEMPLATE = (HERE / "chat_template.jinja").read_text(encoding="utf-8")

from recipe.transcripts import Transcripts, assistant

SPECIAL = [
    "<|startoftext|>", "<|endoftext|>", "<|return|>", "<|constrain|>", "<|channel|>", "<|start|>",
    "<|end|>", "<|message|>", "<|call|>",
]
START, MESSAGE, END, CALL, RETURN = "<|start|>", "<|message|>", "<|end|>", "<|call|>", "<|return|>"
EFFORTS = ["low", "medium", "high", "none", "minimal"]


def environment():
    """Compiles the template in a jinja environment as transformers sets it up."""
    env = jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
    env.filters["tojson"] = lambda x: json.dumps(x, ensure_ascii=False)
    return env.from_string(TEMPLATE)


COMPILED = environment()


def render(messages, tools, effort="medium", prompt=False):
    """Returns the text of a conversation."""
    return COMPILED.render(
        messages=messages, tools=tools, add_generation_prompt=prompt, reasoning_effort=effort
    )


def second_reasoning(function):
    value = next(iter(function["arguments"].values()))
    return f"Now I call {function['name']} for {value}."


def one_call_each(messages):
    """Replaces two calls at once by a call, its result, the other call and its result."""
    out, rest = [], list(messages)
    while rest:
        message = rest.pop(0)
        calls = message.get("tool_calls") or []
        if len(calls) < 2:
            out.append(message)
            continue
        first, second = calls
        out.append(message | {"tool_calls": [first]})
        if rest:
            also = assistant("", second_reasoning(second["function"]), [second])
            if "reasoning_content" not in message:
                del also["reasoning_content"]
            out += [rest.pop(0), also, rest.pop(0)]
    return out


class HarmonyTranscripts(Transcripts):
    weights = {
        "weather": 20, "time": 13, "two_weather": 7, "two_time": 3, "both": 3, "weather_time": 3,
        "time_weather": 2, "calculate": 12, "small": 14, "unknown": 4,
    }

    def conversation(self):
        """-> (messages ending with the assistant message to learn, tools or None, effort)"""
        messages, tools, _ = super().conversation()
        messages = one_call_each(messages)
        # Ends after the first call's result, so that the second call is learnt.
        if len(messages) > 4 and messages[-3].get("tool_calls") and self.chance(0.5):
            if messages[-5].get("tool_calls"):
                messages = messages[:-2]
                messages[-1].setdefault(
                    "reasoning_content", second_reasoning(messages[-1]["tool_calls"][0]["function"])
                )
        return messages, tools, self.r.choice(EFFORTS)


def texts(seed, **marked):
    """Yields training text without end."""
    stream = HarmonyTranscripts(seed, **marked)
    while True:
        yield render(*stream.conversation())

"""Turns as a model of each format writes them, for tests whose calls the transcripts don't have."""
import json

import pytest

import models
from server import Server, replay_file

THOUGHT = {form: "<think>\nEasy.\n</think>\n\n" for form in ("qwen3", "qwen3-coder")} | {
    "kimi-k2": "<think>Easy.</think>",
    "harmony": "<|channel|>analysis<|message|>Easy.<|end|><|start|>assistant",
}


def call(form, name, arguments):
    text = json.dumps(arguments)
    parameters = "".join(
        f"<parameter={key}>\n{value if isinstance(value, str) else json.dumps(value)}\n</parameter>\n"
        for key, value in arguments.items()
    )
    section = "<|tool_calls_section_begin|><|tool_call_begin|>functions."
    return THOUGHT[form] + {
        "qwen3": f'<tool_call>\n{{"name": "{name}", "arguments": {text}}}\n</tool_call>',
        "qwen3-coder": f"<tool_call>\n<function={name}>\n{parameters}</function>\n</tool_call>",
        "kimi-k2": f"{section}{name}:0<|tool_call_argument_begin|>{text}<|tool_call_end|><|tool_calls_section_end|>",
        "harmony": f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{text}<|call|>",
    }[form]


def said(form, text):
    return THOUGHT[form] + ("<|channel|>final<|message|>" if form == "harmony" else "") + text


def scripted(rules):
    """Makes the fixture of a server, and its model's name, for each format; `rules` returns a format's rules."""

    @pytest.fixture(scope="module", params=models.FORMATS)
    def served(request, tmp_path_factory):
        form, folder = request.param, tmp_path_factory.mktemp("scripted")
        server = Server("--model", str(models.make(form, folder)), "--engine", replay_file(folder, rules(form)))
        yield server, form
        server.stop()

    return served

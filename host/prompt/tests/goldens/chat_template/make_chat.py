#!/usr/bin/env python3
"""Renders the chats of chats.py as transformers does, into one JSON file for each template and chat.

    python make_chat.py

Run it again when the embedded model's template or tokenizer changes. Each file holds

    {"template": path from this folder, "messages", "tools", "kwargs",
     "text": rendered with add_generation_prompt=True, "generation_prompt": the text that this adds,
     "ids": tokens of the text, for the embedded model's template only}

or, if the template refuses the chat, "error" instead of the text.
"""
import json
import pathlib

import jinja2
from transformers import AutoTokenizer

import chats

HERE = pathlib.Path(__file__).parent
MODEL = HERE / "../../../../models/qwen3-tiny"
TEMPLATES = {
    "qwen3-tiny": "../../../../models/qwen3-tiny/chat_template.jinja",
    "gpt-oss-tiny": "../../../../models/gpt-oss-tiny/chat_template.jinja",
    "kimi-tiny": "../../../../models/kimi-tiny/chat_template.jinja",
    "thinking": "thinking.jinja",
    "typescript": "typescript.jinja",
}
DATE = {"date": "2025-02-03"}  # the golden must not depend on the day


def render(tokenizer, template, messages, tools, kwargs):
    def apply(prompt, **more):
        return tokenizer.apply_chat_template(
            messages, tools=tools, chat_template=template, add_generation_prompt=prompt, **kwargs, **more
        )

    text, without = apply(True, tokenize=False), apply(False, tokenize=False)
    assert text.startswith(without)
    ids = list(apply(True, tokenize=True, return_dict=False))
    return {"text": text, "generation_prompt": text[len(without):], "ids": ids}


def golden(tokenizer, name, template, messages, tools, kwargs):
    case = {"template": TEMPLATES[name], "messages": messages, "tools": tools, "kwargs": kwargs}
    try:
        rendered = render(tokenizer, template, messages, tools, kwargs)
    except jinja2.exceptions.TemplateError as error:
        return case | {"error": str(error)}
    if name != "qwen3-tiny":
        del rendered["ids"]
    return case | rendered


def dump(case):
    """Writes JSON with one line for each field."""
    fields = (f" {json.dumps(k)}: {json.dumps(v, ensure_ascii=False)}" for k, v in case.items())
    return "{\n" + ",\n".join(fields) + "\n}\n"


def main():
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    for old in HERE.glob("*.json"):
        old.unlink()
    for name, path in TEMPLATES.items():
        template = (HERE / path).read_text(encoding="utf-8")
        for chat, (messages, tools, kwargs) in (chats.CHATS | chats.MORE.get(name, {})).items():
            kwargs = kwargs | (DATE if name == "typescript" else {})
            messages = chats.with_ids(messages) if name == "kimi-tiny" else messages
            case = golden(tokenizer, name, template, messages, tools, kwargs)
            assert ("error" in case) == chat.startswith("error"), (name, chat, case)
            (HERE / f"{name}.{chat}.json").write_text(dump(case), encoding="utf-8")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""What transformers computes with the tiny trained models: host/models/*/golden.json.

    python make_trained.py [NAME ...]

The prompts are rendered chats, as token ids; run it again when the weights change. Greedy paths end with
an end-of-sequence token or after 24 tokens.
"""
import json
import pathlib
import shutil
import sys
import tempfile

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

import golden
from packed import Mxfp4

MODELS = pathlib.Path(__file__).parent / "../../../models"
CITY = {"city": {"type": "string", "description": "The city name"}}


def tool(name, description, properties):
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    function = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}


WEATHER = tool("get_weather", "Get the current weather for a city", CITY)
TIME = tool("get_time", "Get the local time", CITY)
CALL_ID = "functions.get_weather:0"  # as Kimi K2's template wants it
CALLED = {
    "role": "assistant",
    "content": "",
    "tool_calls": [
        {"id": CALL_ID, "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Riga"}}}
    ],
}
ASKED = {"role": "user", "content": "What is the weather in Riga?"}
RESULT = {"role": "tool", "tool_call_id": CALL_ID, "content": '{"temperature": 3, "condition": "windy"}'}
SYSTEM = {"role": "system", "content": "You are a helpful assistant."}

# (messages, tools, template arguments)
CHATS = [
    ([{"role": "user", "content": "Hello!"}], None, {"enable_thinking": False}),
    ([{"role": "user", "content": "Who are you?"}], None, {}),
    ([ASKED], [WEATHER, TIME], {}),
    ([ASKED], [WEATHER, TIME], {"enable_thinking": False}),
    ([{"role": "user", "content": "What time is it in Helsinki?"}], [WEATHER, TIME], {}),
    ([SYSTEM, ASKED, CALLED, RESULT], [WEATHER, TIME], {"enable_thinking": False}),
]


def plain(directory, folder):
    """A copy that transformers reads: packed tensors as the values that these mean, Kimi K2's type by its other name."""
    shutil.copytree(directory, folder, dirs_exist_ok=True)
    config = json.loads((directory / "config.json").read_text())
    if config["model_type"] == "kimi_k2":
        config["model_type"] = "deepseek_v3"
    if config.pop("quantization_config", None) is not None:
        tensors = Mxfp4.unpack(load_file(directory / "model.safetensors"))
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def make(directory):
    with tempfile.TemporaryDirectory() as folder:
        readable = plain(directory, pathlib.Path(folder))
        tokenizer = AutoTokenizer.from_pretrained(readable)
        model = AutoModelForCausalLM.from_pretrained(
            readable, dtype=torch.float32, attn_implementation="eager", experts_implementation="eager"
        ).eval()
    stop = set(model.generation_config.eos_token_id)
    prompts, least = [], 1.0
    for messages, tools, kwargs in CHATS:
        ids = tokenizer.apply_chat_template(
            messages, tools=tools, add_generation_prompt=True, return_dict=False, **kwargs
        )
        prompt, gap = golden.prompt_golden(model, list(ids), stop)
        assert gap >= golden.LEAST_GAP, (messages, gap)
        print(repr(tokenizer.decode(prompt["greedy"])), f"gap {gap:.4f}")
        prompts.append(prompt)
        least = min(least, gap)
    short = tokenizer("Hello!", add_special_tokens=False).input_ids + [model.config.eos_token_id]
    table = [golden.rounded(row) for row in golden.logits(model, short)]
    golden.write(directory / "golden.json", prompts, (short, table), least)


def main():
    torch.set_num_threads(1)
    for name in sys.argv[1:] or ["qwen3-tiny", "gpt-oss-tiny", "kimi-tiny"]:
        make(MODELS / name)


if __name__ == "__main__":
    main()

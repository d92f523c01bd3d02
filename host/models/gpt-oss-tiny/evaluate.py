#!/usr/bin/env python3
"""Evaluate the tiny model with real greedy decoding.

    python evaluate.py MODEL_DIR [--server URL] [--bad N]

Every figure counts exact answers: one `analysis` message, then the call with exactly the expected
arguments, or exactly the expected text. The city names are in no training text. Without a server, transformers
decodes with the weights as stored and arithmetic in float32; with a server (`host serve --model MODEL_DIR`), the
answers are those of its Chat Completions. With --bad, the first N failures go to stderr.
"""
import re
import shutil
import tempfile

import rendering
import torch
from experts import Mxfp4
from recipe import evaluation, names, phrases
from recipe.server import Server, parsed
from recipe.tool_rows import ToolRows
from recipe.transcripts import assistant, call, result
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, GptOssForCausalLM

ANALYSIS = r"<\|channel\|>analysis<\|message\|>([^<]+)<\|end\|><\|start\|>assistant"
FINAL = re.compile(ANALYSIS + r"<\|channel\|>final<\|message\|>([^<]+)<\|return\|>", re.DOTALL)
CALLED = re.compile(
    ANALYSIS + r" to=functions\.(\w+)<\|channel\|>commentary <\|constrain\|>json<\|message\|>([^<]+)<\|call\|>"
)


def load(directory):
    """Loads the stored model in float32, with its experts unpacked."""
    config = AutoConfig.from_pretrained(directory)
    del config.quantization_config
    tensors = Mxfp4.unpack(load_file(f"{directory}/model.safetensors"))
    with tempfile.TemporaryDirectory() as folder:
        config.save_pretrained(folder)
        shutil.copy(f"{directory}/generation_config.json", folder)
        save_file(tensors, f"{folder}/model.safetensors", {"format": "pt"})
        return GptOssForCausalLM.from_pretrained(
            folder, dtype=torch.float32, attn_implementation="eager", experts_implementation="eager"
        )


def outcome(text):
    """Returns the outcome (`recipe.server`) of a text."""
    if found := FINAL.fullmatch(text):
        return found[2]
    found = CALLED.fullmatch(text)
    return parsed([(found[2], found[3])]) if found else None


class Evaluation(ToolRows):
    n = 0

    def mode(self):
        """Returns the efforts in cyclic order; the expected results don't depend on the effort."""
        self.n += 1
        return {"reasoning_effort": ["low", "medium", "high"][self.n % 3]}

    def two_calls(self):
        first, second, answers = [], [], []
        for c, d in zip(names.REAL_CITIES[:50], names.REAL_CITIES[50:100]):
            (content, said), (other, also) = self.weather(), self.weather()
            messages = [self.asked(phrases.TWO_WEATHER, c=c, d=d)]
            first.append(self.case(messages, [("get_weather", {"city": c})]))
            reason = f"The user wants the weather in {c} and {d}. I call get_weather twice."
            messages = messages + [assistant("", reason, [call("get_weather", city=c)]), result(content)]
            second.append(self.case(messages, [("get_weather", {"city": d})]))
            reason = f"Now I call get_weather for {d}."
            messages = messages + [assistant("", reason, [call("get_weather", city=d)]), result(other)]
            answers.append(self.case(messages, f"It is {said} in {c} and {also} in {d}."))
        self.row("two cities: the call for the first one", first)
        self.row("two cities: the call for the second one, after a result", second)
        self.row("two cities: the answer", answers)

    def everything(self):
        self.header()
        self.copying()
        self.tools_in_other_ways()
        self.one_result()
        self.two_calls()
        self.missing()
        self.turns()
        self.talk()


def main():
    args = evaluation.arguments(__doc__, may_ask_server=True)
    if args.server:
        generate = Server(args.server, body_of=lambda effort: effort, thinks=lambda effort: True)
    else:
        decode = evaluation.Generator(args.model, load(args.model))
        generate = lambda items: [outcome(text) for text in decode(items)]
    Evaluation(generate, args.bad).everything()


if __name__ == "__main__":
    main()

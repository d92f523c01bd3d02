#!/usr/bin/env python3
"""Evaluate the tiny model with real greedy decoding.

    python evaluate.py MODEL_DIR [--server URL] [--bad N]

Every figure counts exact answers, with thinking and without: reasoning only where it is requested, then the
calls with exactly the expected arguments, or exactly the expected text. The city names are in no training text.
Without a server, transformers decodes with the weights as stored and arithmetic in float32, and correct indices
of the calls, which clients never see, are counted, too; with a server (`host serve --model MODEL_DIR`), the
answers are those of its Chat Completions. With --bad, the first N failures go to stderr.
"""
import json
import pathlib
import re

import rendering
import torch
from recipe import evaluation, names, phrases
from recipe.server import Server, parsed
from recipe.tool_rows import ToolRows
from recipe.transcripts import assistant, call, result
from transformers import DeepseekV3Config, DeepseekV3ForCausalLM

END = "<|im_end|>"
CALL = re.compile(
    r"<\|tool_call_begin\|>functions\.(\w+):(\d+)<\|tool_call_argument_begin\|>([^<]+)<\|tool_call_end\|>"
)
SECTION = re.compile(
    rf"<\|tool_calls_section_begin\|>(?:{CALL.pattern})+<\|tool_calls_section_end\|>{re.escape(END)}"
)
THOUGHT = re.compile(r"<think>[^<]+</think>")
FINAL = re.compile(r"([^<]+)" + re.escape(END))
THINKING, NOT_THINKING = {}, {"enable_thinking": False}  # arguments of the template


def load(directory):
    """Loads the model in float32. transformers doesn't know the published `model_type`, so it gets its own name for it."""
    fields = json.loads((pathlib.Path(directory) / "config.json").read_text(encoding="utf-8"))
    config = DeepseekV3Config.from_dict(fields | {"model_type": "deepseek_v3"})
    return DeepseekV3ForCausalLM.from_pretrained(
        directory, config=config, dtype=torch.float32, attn_implementation="eager", experts_implementation="eager"
    )


class Decoded:
    """Outcomes (`recipe.server`) of transformers, and the number of calls with the right index."""

    def __init__(self, directory):
        self.generator = evaluation.Generator(directory, load(directory))
        self.calls, self.counted = 0, 0

    def __call__(self, items):
        items = [(rendering.with_ids(messages), tools, mode) for messages, tools, mode in items]
        return [self.outcome(text, item) for text, item in zip(self.generator(items), items)]

    def outcome(self, text, item):
        messages, _, mode = item
        if mode == THINKING:
            thought = THOUGHT.match(text)
            if not thought:
                return None
            text = text[thought.end():]
        if found := FINAL.fullmatch(text):
            return found[1]
        if not SECTION.fullmatch(text):
            return None
        calls, before = CALL.findall(text), sum(len(m.get("tool_calls", [])) for m in messages)
        self.calls += len(calls)
        self.counted += sum(int(index) == before + i for i, (_, index, _) in enumerate(calls))
        return parsed([(name, arguments) for name, _, arguments in calls])


class Evaluation(ToolRows):
    """Evaluation with two figures in each row: with thinking and without."""

    def header(self):
        print("| test | thinking | not thinking |\n|---|---|---|")

    def mode(self):
        return None  # both

    def exact(self, cases, ok):
        both = (
            super(Evaluation, self).exact([(messages, tools, mode, want) for messages, tools, _, want in cases], ok)
            for mode in (THINKING, NOT_THINKING)
        )
        return " | ".join(both)

    def two_at_once(self):
        for title, cities in (("real cities", names.REAL_CITIES), ("invented names", names.INVENTED)):
            cases = []
            for _ in range(50):
                c, d = self.r.sample(cities, 2)
                want = [("get_weather", {"city": c}), ("get_weather", {"city": d})]
                cases.append(self.case([self.asked(phrases.TWO_WEATHER, c=c, d=d)], want))
            self.row(f"two calls at once, {title}", cases)
        cases = []
        for i in range(40):
            c, d = self.r.sample(names.REAL_CITIES, 2)
            d, questions = (c, phrases.WEATHER_AND_TIME) if i % 2 else (d, phrases.WEATHER_THEN_TIME)
            want = [("get_weather", {"city": c}), ("get_time", {"city": d})]
            cases.append(self.case([self.asked(questions, c=c, d=d)], want))
        self.row("weather and time at once", cases)

    def two_results(self):
        cases, also = [], []
        for c, d in zip(names.REAL_CITIES[:40], names.REAL_CITIES[40:80]):
            (content, said), (other, more), (clock, time) = self.weather(), self.weather(), self.clock()
            calls = [call("get_weather", city=c), call("get_weather", city=d)]
            reason = f"The user wants the weather in {c} and {d}. I call get_weather twice."
            asked = self.asked(phrases.TWO_WEATHER, c=c, d=d)
            messages = [asked, assistant("", reason, calls), result(content), result(other)]
            cases.append(self.case(messages, f"It is {said} in {c} and {more} in {d}."))
            calls = [call("get_weather", city=c), call("get_time", city=d)]
            reason = f"The user wants the weather in {c} and the time in {d}. I call get_weather and get_time."
            asked = self.asked(phrases.WEATHER_THEN_TIME, c=c, d=d)
            messages = [asked, assistant("", reason, calls), result(content), result(clock)]
            also.append(self.case(messages, f"It is {said} in {c}. The time in {d} is {time}."))
        self.row("answer after two weather results", cases)
        self.row("answer after weather and time results", also)

    def everything(self):
        self.header()
        self.copying()
        self.tools_in_other_ways()
        self.two_at_once()
        self.one_result()
        self.two_results()
        self.missing()
        self.turns()
        self.talk()


def main():
    args = evaluation.arguments(__doc__, may_ask_server=True)
    if args.server:
        generate = Server(
            args.server, body_of=lambda mode: {"chat_template_kwargs": mode}, thinks=lambda mode: mode == THINKING
        )
    else:
        generate = Decoded(args.model)
    Evaluation(generate, args.bad).everything()
    if not args.server:
        print(f"\nIndex of a call: {generate.counted}/{generate.calls}")


if __name__ == "__main__":
    main()

"""Shared code of the tiny models' evaluations: greedy decoding, rows of a table, made-up tool results."""
import argparse
import json
import random
import sys

import torch
from transformers import PreTrainedTokenizerFast

from recipe import names, phrases
from recipe.transcripts import Transcripts, user

BATCH = 25
LONGEST = 150


class Generator:
    """Greedy decoding by transformers for items (messages, tools, arguments of the template)."""

    def __init__(self, directory, model):
        self.tokenizer = PreTrainedTokenizerFast.from_pretrained(directory, padding_side="left")
        self.model = model.eval()

    def prompt(self, messages, tools, options):
        return self.tokenizer.apply_chat_template(
            messages, tools=tools, add_generation_prompt=True, tokenize=False, **options
        )

    @torch.no_grad()
    def __call__(self, items):
        texts = []
        for i in range(0, len(items), BATCH):
            prompts = [self.prompt(*item) for item in items[i: i + BATCH]]
            x = self.tokenizer(prompts, return_tensors="pt", padding=True)
            out = self.model.generate(**x, max_new_tokens=LONGEST, do_sample=False)
            for row in out[:, x.input_ids.shape[1]:]:
                texts.append(self.tokenizer.decode(row).replace(self.tokenizer.pad_token, ""))
        return texts


class Rows:
    """Prints one row for each test. A case is (messages, tools, mode, expected result)."""

    def __init__(self, generate, ok, bad):
        self.generate, self.ok, self.bad = generate, ok, bad
        self.r = random.Random(99)
        self.stream = Transcripts(99)
        self.tools = [self.stream.schema(tool, plain=True) for tool in phrases.TOOLS]

    def row(self, title, cases, ok=None):
        """Prints the row of a test; `ok(got, wanted, mode)` decides about each case."""
        print(f"| {title} | {self.exact(cases, ok or self.ok)} |", flush=True)

    def exact(self, cases, ok):
        got = self.generate([case[:3] for case in cases])
        failed = [
            (case[3], text) for case, text in zip(cases, got) if not ok(text, case[3], case[2])
        ]
        for want, text in failed[: self.bad]:
            print(f"    want {want!r}\n    got  {text!r}", file=sys.stderr)
        return f"{len(cases) - len(failed)}/{len(cases)}"

    def header(self):
        print("| test | exact |\n|---|---|")

    def weather(self):
        sky, degrees = self.r.choice(phrases.SKY), self.r.randint(-9, 35)
        content = json.dumps({"temperature": degrees, "condition": sky})
        return content, f"{sky} with {degrees} degrees"

    def clock(self):
        time = f"{self.r.randint(0, 23):02d}:{self.r.randint(0, 59):02d}"
        return json.dumps({"time": time}), time

    def asked(self, questions, **values):
        return user(self.r.choice(questions).format(**values))

    def any_spelling(self):
        """Returns all tools and an unneeded one, in any spelling of the training."""
        tools = [self.stream.schema(tool) for tool in phrases.TOOLS] + [self.stream.other_schema()]
        self.r.shuffle(tools)
        return tools

    def maybe_system(self, there):
        return [{"role": "system", "content": self.r.choice(phrases.SYSTEM)}] if there else []


def two_word_names():
    made = names.INVENTED
    return names.TWO_WORD_CITIES + [f"{a} {b}" for a, b in zip(made, reversed(made))]


def parser(description):
    """Returns the parser for the command line of every evaluate.py."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("model", help="directory of the model")
    parser.add_argument("--bad", type=int, default=0, help="failures to show for each test")
    parser.add_argument("--threads", type=int, default=2)
    return parser


def arguments(doc, may_ask_server=False):
    """Returns the arguments of an evaluate.py with this docstring, and sets the number of threads."""
    command_line = parser(doc.split("\n")[0])
    if may_ask_server:
        command_line.add_argument("--server", help="address of a server that has the model")
    args = command_line.parse_args()
    torch.set_num_threads(args.threads)
    return args

"""Costs of other libraries' masks for the cases that `cargo bench --bench constraints` wrote, beside its figures.

Usage: measure.py TOKENIZER CASES. CPU time of one thread for each token: the mask, and the matcher's step to the next token. Texts are encoded
with the tokenizer's added tokens; each engine has to allow every token.
"""

import json
import multiprocessing
import sys
import time

import numpy
from tokenizers import Tokenizer

SEQUENCES = 8
BUDGET = 500.0
# Time limit in seconds of one library for one case.
PATIENCE = 120
END = "<|im_end|>"


class XGrammar:
    """XGrammar compiles a grammar for the whole vocabulary; tools are structural tags in free text."""

    def __init__(self, path, tokenizer):
        import torch
        import xgrammar

        torch.set_num_threads(1)
        self.library = xgrammar
        vocabulary = [tokenizer.id_to_token(id) for id in range(tokenizer.get_vocab_size())]
        self.words = len(vocabulary)
        end = tokenizer.token_to_id(END)
        info = xgrammar.TokenizerInfo(vocabulary, xgrammar.VocabType.BYTE_LEVEL, stop_token_ids=[end])
        self.compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)

    def compile(self, case):
        if case["schema"]:
            return self.compiler.compile_json_schema(case["schema"], strict_mode=False)
        return self.compiler.compile_structural_tag({"type": "structural_tag", "format": tags(case)})

    def text(self, case):
        return case["text"]

    def begin(self, compiled):
        bitmask = self.library.allocate_token_bitmask(1, self.words)
        matcher = self.library.GrammarMatcher(compiled)
        return lambda: matcher.fill_next_token_bitmask(bitmask), matcher.accept_token


def tags(case):
    begin = '<tool_call>\n{{"name": "{}", "arguments": '
    tags = [
        {
            "type": "tag",
            "begin": begin.format(tool["name"]),
            "content": {"type": "json_schema", "json_schema": json.loads(tool["parameters"])},
            "end": "}\n</tool_call>",
        }
        for tool in case["tools"]
    ]
    if case["required"]:
        return {"type": "tags_with_separator", "tags": tags, "separator": "\n", "at_least_one": True}
    return {"type": "triggered_tags", "triggers": ["<tool_call>"], "tags": tags}


class LLGuidance:
    """llguidance, which also computes Sluice's masks, by its Python package, with the grammar that our parser makes."""

    def __init__(self, path, tokenizer):
        import llguidance
        import llguidance.numpy

        self.library = llguidance
        self.tokenizer = llguidance.LLTokenizer(path, eos_token=tokenizer.token_to_id(END))
        self.opening = tokenizer.encode("<|im_start|>assistant\n", add_special_tokens=False).ids

    def compile(self, case):
        matcher = self.library.LLMatcher(self.tokenizer, case["grammar"])
        assert not matcher.is_error(), matcher.get_error()
        assert matcher.consume_tokens(self.opening)
        return matcher

    def text(self, case):
        return case["text"]

    def begin(self, compiled):
        matcher = compiled.deep_copy()
        bitmask = self.library.numpy.allocate_token_bitmask(1, self.tokenizer.vocab_size)
        pointer, size = bitmask.ctypes.data, bitmask.nbytes
        # The function keeps the bitmask alive.
        return lambda _kept=bitmask: matcher.unsafe_compute_mask_ptr(pointer, size), matcher.consume_token


class OutlinesCore:
    """Outlines compiles a schema to an automaton over tokens; it supports no recursion and no text around the JSON."""

    def __init__(self, path, tokenizer):
        import outlines_core

        self.library = outlines_core
        alphabet = byte_alphabet()
        end = tokenizer.token_to_id(END)
        added = set(tokenizer.get_added_tokens_decoder())
        words = {}
        for id in range(tokenizer.get_vocab_size()):
            if id not in added:
                words.setdefault(bytes(alphabet[char] for char in tokenizer.id_to_token(id)), []).append(id)
        self.size = tokenizer.get_vocab_size()
        self.vocabulary = outlines_core.Vocabulary(end, words)

    def compile(self, case):
        if not case["schema"]:
            raise ValueError("nothing but a schema or a regular expression")
        expression = self.library.json_schema.build_regex_from_schema(case["schema"])
        return self.library.Index(expression, self.vocabulary)

    def text(self, case):
        return case["json"]

    def begin(self, compiled):
        guide = self.library.Guide(compiled)
        bitmask = numpy.zeros((self.size + 31) // 32, dtype=numpy.int32)
        arguments = (bitmask.ctypes.data, bitmask.size, bitmask.itemsize)

        def advance(token):
            guide.advance(token, return_tokens=False)
            return True

        # The function keeps the bitmask alive.
        return lambda _kept=bitmask: guide.write_mask_into(*arguments), advance


def byte_alphabet():
    """Returns the byte of each character with which byte-level vocabularies write bytes (GPT-2's table)."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {**{chr(byte): byte for byte in plain}, **{chr(256 + at): byte for at, byte in enumerate(others)}}


ENGINES = {"xgrammar": XGrammar, "llguidance, Python": LLGuidance, "outlines-core": OutlinesCore}


def measure(path, name, case, pipe):
    """Sends the figures, or the reason why there are none, through the pipe."""
    try:
        tokenizer = Tokenizer.from_file(path)
        engine = ENGINES[name](path, tokenizer)
        began = time.thread_time_ns()
        compiled = engine.compile(case)
        compile_ms = (time.thread_time_ns() - began) / 1e6
        ids = tokenizer.encode(engine.text(case), add_special_tokens=False).ids + [tokenizer.token_to_id(END)]
        first = walk(engine.begin(compiled), ids)
        rest = sorted(cost for _ in range(SEQUENCES) for cost in walk(engine.begin(compiled), ids))
        at = lambda percent: rest[(len(rest) - 1) * percent // 100]
        mean = lambda costs: sum(costs) / len(costs)
        figures = {"compile_ms": compile_ms, "first": mean(first), "mean": mean(rest)}
        pipe.send({**figures, "p50": at(50), "p99": at(99), "max": at(100)})
    except Exception as error:
        pipe.send(" ".join(str(error).split())[:90] or type(error).__name__)


def walk(calls, ids):
    mask, advance = calls
    costs = []
    for at, token in enumerate(ids):
        began = time.thread_time_ns()
        mask()
        is_taken = advance(token)
        costs.append((time.thread_time_ns() - began) / 1e3)
        if not is_taken:
            raise ValueError(f"refuses token {token}, the {at}th of {len(ids)}")
    return costs


def within_patience(path, name, case):
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=measure, args=(path, name, case, there))
    process.start()
    try:
        found = here.recv() if here.poll(PATIENCE) else f"not within {PATIENCE} s"
    except EOFError:
        found = "its process died"
    process.kill()
    process.join()
    return found


def main():
    path, cases = sys.argv[1], json.load(open(sys.argv[2]))
    columns = ["compile ms", "1st mean", "p50", "p99", "max", "mean", "in 5 %"]
    print(f"\n{'µs per token':<24}" + "".join(f"{column:>11}" for column in columns))
    for case in cases:
        print(case["name"])
        row("sluice", case["figures"])
        for name in ENGINES:
            row(name, within_patience(path, name, case))


def row(name, found):
    if isinstance(found, str):
        print(f"  {name:<22}   {found}", flush=True)
        return
    keys = ["compile_ms", "first", "p50", "p99", "max", "mean"]
    figures = [found[key] for key in keys]
    print(f"  {name:<22}" + "".join(f"{figure:>11.1f}" for figure in figures) + f"{BUDGET / found['mean']:>11.0f}", flush=True)


if __name__ == "__main__":
    main()

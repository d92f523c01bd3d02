"""Compares what our parsers make of our own cases in SGLang with what the Python package makes of them: `facade.py SGLANG [NAME…]`.

SGLang has text alone, so the package has, too. Cases with options of the parser are left out, since SGLang hands on none.
"""
import json
import logging
import pathlib
import sys
import tempfile

import turns
from conformance import read
from read_sluice_sglang import Reader
from write import ROOT, markers


def as_said(collected):
    """Arguments as they came, whether they are JSON or not."""
    return collected.reasoning, collected.content, [tuple(call) for _, call in sorted(collected.calls.items())]


def of_package(bound, turn):
    """What the package makes of a turn, with what SGLang joins joined, and no message of white space beside calls."""
    items = bound.parse(turn.text, tools=turn.tools, prompt=turn.prompt, trim=()).items
    calls = [(item.name, item.text) for item in items if item.kind == "tool_call"]
    shown = [item for item in items if item.kind != "message" or item.text.strip() or not calls]
    reasoning, message = ("".join(item.text for item in shown if item.kind == kind) for kind in ("reasoning", "message"))
    return reasoning, message, calls


def differing(reader, name, literals, stops):
    """Number of a parser's cases, and those of which SGLang makes something else."""
    import sluice_parsers
    from served import make_model

    folder = next(folder for folder in (ROOT / f"plugins/{name}/cases", ROOT / f"plugins/tables/{name}/cases") if folder.is_dir())
    cases = {file.stem: json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))}
    asked = [turns.written(case, stem, stops) for stem, case in cases.items() if not case.get("options")]
    with tempfile.TemporaryDirectory() as model:
        make_model(pathlib.Path(model), " ".join(literals), {"eos_token": stops[0] if stops else "</s>"}, stops)
        reader.model(pathlib.Path(model))
    bound, differ = sluice_parsers.load(name).bind(), []
    for turn in asked:
        expected = of_package(bound, turn)
        for way in "whole", "streamed":
            made = read(reader, turn, way, [f"sluice-{name}"] * 2)[1] if turn.pieces else expected
            if made != expected:
                differ.append((way, turn.name, turn.text, made, expected))
    return len(asked), differ


def main():
    package, *names = sys.argv[1:]
    logging.disable(logging.CRITICAL)
    turns.Collected.made = as_said
    reader, total, wrong = Reader(package, None), 0, 0
    for name, (literals, stops) in sorted(markers().items()):
        if names and name not in names:
            continue
        count, differ = differing(reader, name, literals, stops)
        total, wrong = total + count, wrong + len(differ)
        print(f"{name}: {count} cases, {len(differ)} differences", flush=True)
        for way, case, text, made, expected in differ:
            print(f"  {way} {case}\n    {text!r}\n    SGLang  {made!r}\n    package {expected!r}")
    print(f"SGLang {reader.version}: {total} cases, whole and streamed, {wrong} differences")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()

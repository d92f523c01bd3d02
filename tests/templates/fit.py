"""Compares our parsers and tables with chat templates by `host parser fit`, and prints the matrix: which parser fits a template, else what stops the nearest one.

`fit.py FOLDER` takes every *.jinja in FOLDER, for example those that corpus.py wrote. For each it tries the parsers that have most markers in the template. Nothing of the templates is kept.
"""
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

from corpus import special_tokens
from served import HOST, ROOT, make_model

TRIED = 6


def parsers():
    """Returns the markers of each shipped parser and table, by name."""
    listed = json.loads(subprocess.run([HOST, "parser", "list", "--plugins", "none", "--json"], check=True, capture_output=True).stdout)
    markers = {parser["name"]: [marker for index, marker in enumerate(parser["markers"]) if index not in parser["stops"]] for parser in listed if parser.get("markers")}
    for file in sorted((ROOT / "plugins/tables").glob("*.json")):
        markers[file.stem] = json.loads(file.read_text())["markers"]
    return markers


def fit(parser, model):
    """Returns the exit status of the comparison and its report, or the error."""
    run = subprocess.run([HOST, "parser", "fit", parser, "--model", model, "--json"], cwd=ROOT, capture_output=True, text=True)
    return run.returncode, json.loads(run.stdout) if run.stdout else run.stderr.strip()


def of_verdict(report, *verdicts):
    return [probe["probe"] for probe in report["probes"] if probe["verdict"] in verdicts]


def row(template, known, folder):
    """Returns the outcome of a template and a line about it."""
    make_model(folder, template, special_tokens(template))
    shares = {name: sum(marker in template for marker in markers) for name, markers in known.items()}
    likely = sorted((name for name in shares if shares[name] or name == "llama3"), key=lambda name: (-shares[name], name))[:TRIED]
    best = None
    for name in likely:
        status, report = fit(name, folder)
        if status == 2:
            best = best or ("can't run", f"{name}: {report}")
            continue
        odd = of_verdict(report, "unshown", "rewritten", "refused", "unopened", "ambiguous")
        if status == 0:
            return "fits", f"{name}" + (f" (not comparable: {' '.join(odd)})" if odd else "")
        differs, same = of_verdict(report, "differs"), len(of_verdict(report, "same"))
        outcome = "differs" if status == 1 else "nothing proved"
        line = f"{name}: {same} same" + (f", differs: {' '.join(differs)}" if differs else "") + (f"; not comparable: {' '.join(odd)}" if odd else "")
        if best is None or len(best) < 3 or same > best[2]:
            best = (outcome, line, same)
    return best[:2] if best else ("no parser", "no parser's markers stand in it")


def main():
    known, counts = parsers(), collections.Counter()
    with tempfile.TemporaryDirectory() as work:
        for file in sorted(pathlib.Path(sys.argv[1]).glob("*.jinja")):
            outcome, line = row(file.read_text(), known, pathlib.Path(work) / file.stem)
            counts[outcome] += 1
            print(f"{outcome:14} {file.stem:52} {line}", flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()))


if __name__ == "__main__":
    main()

"""Compares our parsers and tables with chat templates by `host parser fit`, and prints the matrix: which parser fits a template, else what stops the nearest one.

`fit.py FOLDER` takes every *.jinja in FOLDER, for example those that corpus.py wrote. For each it tries the parsers whose markers stand in the template. With `--page` it writes docs/fitted.md, with
`--check` it fails if that page says otherwise. Nothing of the templates is kept.
"""
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

from corpus import special_tokens
from served import HOST, ROOT, make_model

TRIED = 12


def parsers():
    """Returns the markers of each shipped parser and table, by name, and the names of the tables."""
    listed = json.loads(subprocess.run([HOST, "parser", "list", "--plugins", "none", "--json"], check=True, capture_output=True).stdout)
    markers = {parser["name"]: [marker for index, marker in enumerate(parser["markers"]) if index not in parser["stops"]] for parser in listed if parser.get("markers")}
    tables = {file.stem: json.loads(file.read_text())["markers"] for file in (ROOT / "plugins/tables").glob("*.json")}
    return {**markers, **tables}, set(tables)


def fit(parser, model):
    """Returns the exit status of the comparison and its report, or the error."""
    run = subprocess.run([HOST, "parser", "fit", parser, "--model", model, "--json"], cwd=ROOT, capture_output=True, text=True)
    return run.returncode, json.loads(run.stdout) if run.stdout else run.stderr.strip()


def likely(template, known, tables):
    """Returns the parsers that the template's text speaks for: tables whose markers all stand in it, then by the share of markers."""
    shares = {name: sum(marker in template for marker in markers) / len(markers) for name, markers in known.items()}
    likely = [name for name in shares if shares[name] == 1 or name not in tables and shares[name] or name in ("llama3", "qwen3")]
    return sorted(likely, key=lambda name: (-shares[name], name))[:TRIED]


def said(probes):
    """Returns the probes' names with what came of them; markers of the parser, tried one by one, in one word."""
    words = collections.defaultdict(list)
    for probe in probes:
        read = {True: " but read", False: " and not read", None: ""}[probe.get("is_read")]
        words[probe["verdict"] + read].append("markers" if probe["probe"].startswith("marker-") else probe["probe"])
    return "; ".join(f"{verdict}: {' '.join(dict.fromkeys(names))}" for verdict, names in words.items())


def outcome(status, report):
    """Returns how a comparison counts in the matrix, and why."""
    probes = report["probes"]
    calls = [probe for probe in probes if probe["probe"] not in ("text", "reasoning-text")]
    odd = [probe for probe in probes if probe["verdict"] != "same"]
    if all(probe["verdict"] == "refused" for probe in calls):
        return "refuses calls", calls[0]["raised"]
    if all(probe["verdict"] in ("unshown", "refused") for probe in calls):
        return "shows no calls", ""
    if status == 0:
        return "fits", said(odd)
    if status == 1:
        return "differs", said([probe for probe in odd if probe["verdict"] == "differs"])
    read = [probe["is_read"] for probe in probes if "is_read" in probe]
    return "read, unproved" if read and all(read) else "nothing proved", said(odd)


def row(template, known, tables, folder):
    """Returns the outcome of a template with the parser that reads most of it, and a line about it."""
    make_model(folder, template, special_tokens(template))
    rows = []
    for name in likely(template, known, tables):
        status, report = fit(name, folder)
        if status == 2:
            rows.append((-1, "can't run", name, report))
            continue
        same = sum(probe["verdict"] == "same" or bool(probe.get("is_read")) for probe in report["probes"])
        kind, why = outcome(status, report)
        rows.append((same / len(report["probes"]), kind, name, why))
        if kind in ("fits", "refuses calls", "shows no calls"):
            break
    ranks = ["fits", "refuses calls", "shows no calls", "read, unproved", "nothing proved", "differs", "can't run"]
    best = max(rows, key=lambda row: (row[1] == "fits", row[0], -ranks.index(row[1])))
    parser = "" if best[1] in ("refuses calls", "shows no calls") else best[2]
    return best[1], parser, best[3]


HEAD = """# Which parsers were held against which chat templates
Written by `tests/templates/run.sh`, which the night's tests run: each published chat template of four packages ([which](../tests/templates/README.md)) writes
[probes](parser-fit.md), and the parser that is named gives them back in the sandbox. A probe that the template doesn't show, rewrites or refuses is no difference.
"""
NOTHING = "refuses calls", "shows no calls"


def cell(text):
    """Returns the text as a table's cell has it."""
    return text.replace("|", "\\|").replace("\n", " ")


def page(rows, known):
    """Returns the page that the rows of all templates make."""
    fits = collections.defaultdict(list)
    for name, kind, parser, _ in rows:
        if kind == "fits":
            fits[parser].append(f"`{name}`")
    lines = [HEAD, "<!-- fits -->", "| parser or table | templates that it fits |", "|---|---|"]
    lines += [f"| `{parser}` | {', '.join(fits[parser])} |" for parser in sorted(fits)]
    without = ", ".join(f"`{name}`" for name in sorted(known) if name not in fits)
    lines += [f"| {without} | none: the packages have no template of theirs, or one that proves nothing (below); some are held against twins of their vendors' (`host/fit/tests/twins`) |", "<!-- end -->", ""]
    lines += ["## What isn't proved", "<!-- unproved -->", "| template | nearest parser | |", "|---|---|---|"]
    lines += [f"| `{name}` | {f'`{parser}`' if parser else ''} | {cell(why if why.startswith(kind) else f'{kind}: {why}')} |" for name, kind, parser, why in rows if kind != "fits" and kind not in NOTHING]
    lines.append("<!-- end -->")
    counts = [sum(kind == nothing for _, kind, _, _ in rows) for nothing in NOTHING]
    lines += ["", f"{counts[1]} other templates show no calls, and {counts[0]} raise for each."]
    return "\n".join(lines) + "\n"


def main():
    (known, tables), rows = parsers(), []
    with tempfile.TemporaryDirectory() as work:
        for file in sorted(pathlib.Path(sys.argv[1]).glob("*.jinja")):
            kind, parser, why = row(file.read_text(), known, tables, pathlib.Path(work) / file.stem)
            rows.append((file.stem, kind, parser, why))
            print(f"{kind:15} {file.stem:52} {parser:14} {why}".rstrip(), flush=True)
    counts = collections.Counter(kind for _, kind, _, _ in rows)
    print(", ".join(f"{count} {kind}" for kind, count in counts.most_common()))
    fitted = ROOT / "docs/fitted.md"
    if "--page" in sys.argv:
        fitted.write_text(page(rows, known))
    if "--check" in sys.argv and fitted.read_text() != page(rows, known):
        sys.exit(f"{fitted.name} says otherwise: fit.py FOLDER --page writes it again")


if __name__ == "__main__":
    main()

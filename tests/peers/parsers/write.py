"""Has vendors' chat templates write turns: a folder for each template of peers.json, with the model's files and a case for each probe.

`write.py TEMPLATES TURNS [NAME…]`, by `host parser fit`, which plays each with our parser, too. Nothing of it is kept in the repository.
"""
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
HOST = os.environ.get("SLUICE_HOST", ROOT / "target/release/host")
sys.path.append(str(ROOT / "tests/templates"))


def fitted():
    """Returns which parser fits each template, as the page says."""
    rows = re.findall(r"^\| `(\S+)` \| (`.*`) \|$", (ROOT / "docs/fitted.md").read_text(), re.M)
    return {template: parser for parser, templates in rows if "," not in parser for template in re.findall(r"`([^`]+)`", templates)}


def markers():
    """Returns the markers of each parser and table, and those of them that end turns."""
    tables = {file.stem: (json.loads(file.read_text())["markers"], []) for file in (ROOT / "plugins/tables").glob("*.json")}
    listed = json.loads(subprocess.run([HOST, "parser", "list", "--plugins", "none", "--json"], check=True, capture_output=True).stdout)
    return tables | {parser["name"]: (parser["markers"], [parser["markers"][index] for index in parser["stops"]]) for parser in listed if parser.get("markers")}


def write(parser, template, folder, literals):
    """Writes the turns of a template, whose tokenizer has these markers, too, and returns how many our parser reads, and doesn't."""
    from corpus import special_tokens
    from served import make_model

    shutil.rmtree(folder, ignore_errors=True)
    make_model(folder / "model", template, special_tokens(template), literals)
    command = [HOST, "parser", "fit", parser, "--model", folder / "model", "--save", folder / "cases", "--all", "--json"]
    fit = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout)
    for marker in (folder / "cases").glob("*marker-*.json"):
        marker.unlink()
    return collections.Counter(probe["verdict"] for probe in fit["probes"] if not probe["probe"].startswith("marker-"))


def main():
    templates, turns, *only = map(pathlib.Path, sys.argv[1:])
    ours, known = fitted(), markers()
    for name in map(str, only) if only else json.loads((HERE / "peers.json").read_text()):
        parser = ours[name]
        literals, stops = known[parser]
        verdicts = write(parser, (templates / f"{name}.jinja").read_text(), turns / name, literals)
        about = {"parser": parser, "stops": stops, "differ": verdicts["differs"]}
        (turns / name / "about.json").write_text(json.dumps(about))
        print(f"{name}: {dict(verdicts)}", flush=True)


if __name__ == "__main__":
    main()

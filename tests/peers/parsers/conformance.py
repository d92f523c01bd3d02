"""Compares what Sluice's, vLLM's and SGLang's parsers read of turns that vendors' chat templates write."""
import collections
import contextlib
import importlib
import io
import json
import logging
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.append(str(ROOT / "tests/templates"))
HOST = os.environ.get("SLUICE_HOST", ROOT / "target/release/host")


def fitted():
    """Returns which parser fits each template, as the page says."""
    rows = re.findall(r"^\| `(\S+)` \| (`.*`) \|$", (ROOT / "docs/fitted.md").read_text(), re.M)
    return {template: parser for parser, templates in rows if "," not in parser for template in re.findall(r"`([^`]+)`", templates)}


def stops():
    """Returns the markers of each parser that end turns."""
    listed = json.loads(subprocess.run([HOST, "parser", "list", "--plugins", "none", "--json"], check=True, capture_output=True).stdout)
    return {parser["name"]: [parser["markers"][index] for index in parser["stops"]] for parser in listed if parser.get("markers")}


def written(parser, template, stops, folder):
    """Returns the turns that a template writes, and the number of those that our parser doesn't read."""
    from corpus import special_tokens
    from served import make_model

    make_model(folder, template, special_tokens(template))
    command = [HOST, "parser", "fit", parser, "--model", folder, "--save", folder / "cases", "--all", "--json"]
    fit = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout)
    verdicts = collections.Counter(probe["verdict"] for probe in fit["probes"] if not probe["probe"].startswith("marker-"))
    files = sorted((folder / "cases").glob("*.json"))
    from turns import load, without_end

    turns = without_end([load(file) for file in files if "marker-" not in file.name], stops)
    return turns, verdicts["differs"]


def read(reader, turn, way, parsers):
    """Returns whether the peer reads the turn; what it raises is said as the second value."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            made = getattr(reader, way)(turn, *parsers)
    except Exception as error:  # noqa: BLE001, a peer may raise anything
        return False, f"{type(error).__name__}: {error}"
    return turn.is_read(made), made


def compare(reader, templates, name, parser, parsers, stops):
    """Returns how many of a template's turns are read, by whom."""
    with tempfile.TemporaryDirectory() as work:
        folder = pathlib.Path(work)
        turns, differs = written(parser, (templates / f"{name}.jinja").read_text(), stops, folder)
        if hasattr(reader, "model"):
            reader.model(folder)
        row, missed = collections.Counter(turns=len(turns), ours=len(turns) - differs), []
        for turn in turns:
            for way in ("whole", "streamed"):
                is_read, made = read(reader, turn, way, parsers)
                row[way] += is_read
                if not is_read:
                    missed.append((way, turn, made))
    return row, missed


def main():
    templates, peer, folder = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    logging.disable(logging.CRITICAL)
    reader = importlib.import_module(f"read_{peer}").Reader(folder)
    total, ends, ours = collections.Counter(), stops(), fitted()
    print(f"| template | Sluice | {peer} | turns | Sluice reads | {peer}, whole | {peer}, streamed | not read, streamed |\n|---|---|---|---|---|---|---|---|")
    for name, peers in json.loads((HERE / "peers.json").read_text()).items():
        # Sluice's own parsers have one name in vLLM, for both flags.
        chosen = [f"sluice-{ours.get(name)}"] * 2 if peer == "sluice" else peers.get(peer)
        if chosen is None or name not in ours:
            continue
        row, missed = compare(reader, templates, name, ours[name], chosen, ends.get(ours[name], []))
        total += row
        names = " ".join(turn.name for way, turn, _ in missed if way == "streamed") if row["streamed"] else "all"
        parsers = ", ".join(f"`{parser}`" for parser in dict.fromkeys(chosen) if parser)
        print(f"| `{name}` | `{ours[name]}` | {parsers} | {row['turns']} | {row['ours']} | {row['whole']} | {row['streamed']} | {names} |", flush=True)
        if "-v" in sys.argv:
            for way, turn, made in missed:
                print(f"    {way} {turn.name} {turn.prompt[-30:]!r} {turn.text[:400]!r}\n      {made!r}")
    print(f"| all | | | {total['turns']} | {total['ours']} | {total['whole']} | {total['streamed']} | |")


if __name__ == "__main__":
    main()

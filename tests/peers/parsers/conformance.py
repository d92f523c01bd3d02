"""Compares what Sluice's, vLLM's and SGLang's parsers read of turns that vendors' chat templates write."""
import collections
import contextlib
import importlib
import io
import json
import logging
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.append(str(ROOT / "tests/templates"))
HOST = os.environ.get("SLUICE_HOST", ROOT / "target/release/host")


def stops():
    """Returns the markers of each parser that end turns."""
    listed = json.loads(subprocess.run([HOST, "parser", "list", "--plugins", "none", "--json"], check=True, capture_output=True).stdout)
    return {parser["name"]: [parser["markers"][index] for index in parser["stops"]] for parser in listed if parser.get("markers")}


def written(parser, template, stops, folder):
    """Returns the turns that a template writes, and the numbers of those that our parser reads and doesn't."""
    from corpus import special_tokens
    from served import make_model

    make_model(folder, template, special_tokens(template))
    command = [HOST, "parser", "fit", parser, "--model", folder, "--save", folder / "cases", "--all", "--json"]
    fit = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout)
    verdicts = collections.Counter(probe["verdict"] for probe in fit["probes"] if not probe["probe"].startswith("marker-"))
    files = sorted((folder / "cases").glob("*.json"))
    from turns import load, without_end

    turns = without_end([load(file) for file in files if "marker-" not in file.name], stops)
    return turns, verdicts["same"], verdicts["differs"]


def read(reader, turn, way, parsers):
    """Returns whether the peer reads the turn; what it raises is said as the second value."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            made = getattr(reader, way)(turn, *parsers)
    except Exception as error:  # noqa: BLE001, a peer may raise anything
        return False, f"{type(error).__name__}: {error}"
    return turn.is_read(made), made


def main():
    templates, peer, folder = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    logging.disable(logging.CRITICAL)
    reader = importlib.import_module(f"read_{peer}").Reader(folder)
    total, ends = collections.Counter(), stops()
    for name, (parser, *peers) in json.loads((HERE / "peers.json").read_text()).items():
        parsers = peers[("vllm", "sglang").index(peer)]
        if parsers is None:
            continue
        with tempfile.TemporaryDirectory() as work:
            turns, same, differs = written(parser, (templates / f"{name}.jinja").read_text(), ends.get(parser, []), pathlib.Path(work))
            if hasattr(reader, "model"):
                reader.model(pathlib.Path(work))
            row = collections.Counter(turns=len(turns), ours=len(turns) - differs)
            missed = collections.defaultdict(list)
            for turn in turns:
                for way in ("whole", "streamed"):
                    is_read, made = read(reader, turn, way, parsers)
                    row[way] += is_read
                    if not is_read:
                        missed[way].append(turn.name)
                        if "-v" in sys.argv:
                            print(f"    {way} {turn.name} {turn.prompt[-30:]!r} {turn.text[:300]!r}\n      made {made!r}"[:900])
        total += row
        print(f"{name:58} {parser:12} {'/'.join(map(str, parsers)):32} turns {row['turns']:3} ours {row['ours']:3} whole {row['whole']:3} streamed {row['streamed']:3}  {' '.join(missed['streamed'])}"[:260], flush=True)
    print(dict(total))


if __name__ == "__main__":
    main()

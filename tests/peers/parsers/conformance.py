"""Has the parsers of another server read turns, whole and streamed, and says which they don't read.

`conformance.py PEER PACKAGE TURNS [RESULTS]` reads the turns that write.py wrote, by the parsers that peers.json names.
`conformance.py PEER PACKAGE --cases DIRECTORY OURS CALLS REASONING [END]` reads a folder of our cases by the parsers CALLS and REASONING, each `-` for
none; END is the token that ends turns, where OURS is a table and says none.
PEER is a key of READERS (`sluice-vllm` and `sluice-sglang`: our parsers in these servers), PACKAGE the folder of its package or the program `read`. `-v` shows each turn that isn't read.
"""
import collections
import contextlib
import importlib
import io
import json
import logging
import pathlib
import sys
import tempfile

from turns import fair, load, without_end

HERE = pathlib.Path(__file__).resolve().parent
READERS = {"sluice-vllm": "sluice_vllm", "sluice-sglang": "sluice_sglang", "vllm": "vllm", "sglang": "sglang", "transformers": "transformers", "smg": "native", "symphony": "native", "dynamo": "native", "dynamo-v2": "native"}

OURS = ("sluice-vllm", "sluice-sglang")


def read(reader, turn, way, parsers):
    """Returns whether the peer reads the turn, and what it makes of it or raises."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            made = getattr(reader, way)(turn, *parsers)
    except Exception as error:  # noqa: BLE001, a peer may raise anything
        return False, f"{type(error).__name__}: {error}"
    return turn.is_read(made), made


def compare(reader, turns, parsers):
    """Returns the names of the turns that aren't read whole, and of those that aren't streamed; `-v` shows them."""
    missed = {"whole": [], "streamed": []}
    for turn in turns:
        for way, names in missed.items():
            is_read, made = read(reader, turn, way, parsers)
            if not is_read:
                names.append(turn.name)
            if not is_read and "-v" in sys.argv:
                print(f"    {way} {turn.name} {turn.prompt[-30:]!r} {turn.text[:400]!r}\n      {made!r}")
    return missed


def written(folder, left_out):
    """Returns the turns of a template without those named, and what write.py noted of them."""
    about = json.loads((folder / "about.json").read_text())
    turns = [load(file, about["stops"]) for file in sorted((folder / "cases").glob("*.json"))]
    return fair(turns if about["stops"] else without_end(turns), left_out), about


def compare_templates(peer, reader, folder):
    """Returns what a peer doesn't read of each template's turns."""
    results = {}
    for name, peers in json.loads((HERE / "peers.json").read_text()).items():
        if peer not in peers and peer not in OURS:
            continue
        turns, about = written(folder / name, peers.get("left_out", {}))
        reader.model(folder / name / "model")
        # Sluice's own parsers have one name there, for both flags.
        parsers = [f"sluice-{about['parser']}"] * 2 if peer in OURS else peers[peer]
        missed = compare(reader, turns, parsers)
        results[name] = {"ours": about["parser"], "turns": len(turns), "differ": about["differ"], **missed}
        print(f"{name}: {', '.join(f'{way} {len(turns) - len(missed[way])}' for way in missed)} of {len(turns)}; {' '.join(missed['streamed'])}", flush=True)
    return {"version": reader.version, "templates": results}


def compare_cases(reader, directory, ours, parsers, ends):
    """Prints which cases of a folder, of those that end as the model meant, a peer doesn't read."""
    from write import markers

    literals, stops = markers()[ours]
    stops = [*stops, *ends]
    files = [file for file in sorted(directory.glob("*.json")) if is_plain(json.loads(file.read_text()))]
    turns = [load(file, stops) for file in files]
    for turn, file in zip(turns, files):
        turn.name = file.stem
    with tempfile.TemporaryDirectory() as folder:
        from served import make_model

        make_model(pathlib.Path(folder), " ".join(literals), {"eos_token": stops[0] if stops else "</s>"}, stops)
        reader.model(pathlib.Path(folder))
        missed = compare(reader, turns, parsers)
    for way, names in missed.items():
        print(f"{way}: {len(turns) - len(names)} of {len(turns)}; not read: {' '.join(names)}")


def is_json(text):
    """Whether a text is JSON."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def is_plain(case):
    """Whether a case is a turn that the model ended, of functions, and items that are whole, their arguments JSON."""
    expect = case.get("expect", {})
    tools = all(isinstance(tool, str) or tool.get("kind", "function") == "function" for tool in case.get("tools", []))
    whole = all("status" not in item and is_json(item.get("arguments", "{}")) for item in expect.get("items", []))
    return tools and whole and "items" in expect and expect.get("end", "completed") == "completed" and case.get("finish", "stop") == "stop" and not case.get("options")


def main():
    arguments = [word for word in sys.argv[1:] if word != "-v"]
    peer, package, turns, *rest = arguments
    logging.disable(logging.CRITICAL)
    reader = importlib.import_module(f"read_{READERS[peer]}").Reader(package, peer)
    if turns == "--cases":
        directory, ours, calls, reasoning, *ends = rest
        compare_cases(reader, pathlib.Path(directory), ours, [None if name == "-" else name for name in (calls, reasoning)], ends)
        return
    results = compare_templates(peer, reader, pathlib.Path(turns))
    if rest:
        pathlib.Path(rest[0]).write_text(json.dumps(results, indent=1))
    # What ours read here, they read there.
    if peer in OURS and any(template["whole"] or template["streamed"] for template in results["templates"].values()):
        sys.exit(1)


if __name__ == "__main__":
    main()

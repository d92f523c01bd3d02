"""Starts a server for each chat template as an operator does, without `--parser`, and prints which parser it gets: an installed one, one that the start derives, or none, and why.

`started.py FOLDER` takes every *.jinja in FOLDER. Nothing of the templates is kept, but derived tables in the user's cache.
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from corpus import special_tokens
from served import HOST, make_model

MOST_SECONDS = 120


def lines(log):
    """Returns the fields of the log's lines."""
    log.seek(0)
    return [json.loads(line)["fields"] for line in log.read().splitlines() if line.startswith("{")]


def outcome(fields):
    """Returns the outcome that the log shows and a line about it; none if it is still to come."""
    said = {line["message"].split(":")[0]: line for line in fields}
    swapped = said.get("parser swapped; streams under way keep theirs")
    if swapped:
        return "derived", swapped["why"]
    if "no parser derived" in said:
        return "text", said["no parser derived"]["reason"]
    if "deriving a parser from the chat template" in said:
        return None
    if "no parser chosen" in said:
        return "no calls" if "none reads a call" not in said["no parser chosen"]["why"] else "text", said["no parser chosen"]["why"]
    chosen = said.get("parser chosen") or said.get("parser chosen, which doesn't look like this model's")
    return ("installed", f"{chosen['source']}: {chosen['why']}") if chosen else None


def row(template, folder):
    """Returns the outcome of a template, a line about it, and the seconds until the server listened and until a parser was there."""
    make_model(folder / "model", template, special_tokens(template))
    (folder / "replay.json").write_text('{"rules": [{"text": "x"}]}')
    with tempfile.TemporaryFile("w+") as log:
        began = time.monotonic()
        command = [HOST, "serve", "--listen", "127.0.0.1:0", "--log-json", "--store", "none", "--engine", f"replay:{folder}/replay.json", "--model", folder / "model"]
        server = subprocess.Popen(command, env={**os.environ, "RUST_LOG": "info"}, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            if not any(line.startswith("address") for line in server.stdout):
                return "not served", lines(log) or "no line", 0, 0
            listened = time.monotonic()
            while not (found := outcome(lines(log))) and time.monotonic() < began + MOST_SECONDS:
                time.sleep(0.01)
            return *(found or ("text", "no end in time")), listened - began, time.monotonic() - began
        finally:
            server.kill()
            server.wait()


def main():
    templates = sorted(pathlib.Path(sys.argv[1]).glob("*.jinja"))
    counts, waits = collections.Counter(), []
    for file in templates:
        with tempfile.TemporaryDirectory() as folder:
            found, why, listened, ended = row(file.read_text(), pathlib.Path(folder))
        counts[found] += 1
        if found == "derived":
            waits.append(ended - listened)
        print(f"{found:10} {file.stem:50} {listened:5.2f} {ended:5.2f} s  {str(why)[:160]}", flush=True)
    print(*(f"{count} {name}" for name, count in counts.most_common()), sep=", ")
    if waits:
        print(f"seconds from the address to a derived parser: median {sorted(waits)[len(waits) // 2]:.2f}, most {max(waits):.2f}")


main()

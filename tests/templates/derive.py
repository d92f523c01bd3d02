"""Derives a parser for each chat template by `host parser derive`, and prints the matrix: which installed parser fits, else whether one was derived that passes, else why not.

`derive.py FOLDER` takes every *.jinja in FOLDER. `--force` derives also where an installed parser fits. A crate is built, which needs wasm32-unknown-unknown in rustup or plugins/.toolchain/bin in PATH. Nothing of the templates is kept.
"""
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

from corpus import special_tokens
from served import HOST, ROOT, make_model

OUTCOMES = {0: "derived", 1: "doesn't pass", 2: "can't run", 3: "refused"}


def row(template, force, folder):
    """Returns the outcome of a template and a line about it."""
    make_model(folder, template, special_tokens(template))
    command = [HOST, "parser", "derive", "--model", folder, "--out", folder / "out", "--build", *(["--force"] if force else [])]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    fits = re.search(r"(\S+) fits: ", run.stdout)
    if fits:
        return "fits", fits[1]
    if run.returncode > 1:
        return OUTCOMES.get(run.returncode, "crashed"), run.stderr.strip().removeprefix("error: ")
    return OUTCOMES[run.returncode], "; ".join(re.sub(r"\s+", " ", line).strip() for line in run.stdout.splitlines()[-3:])


def main():
    files = sorted(pathlib.Path(sys.argv[1]).glob("*.jinja"))
    counts = collections.Counter()
    with tempfile.TemporaryDirectory() as work:
        for file in files:
            outcome, line = row(file.read_text(), "--force" in sys.argv, pathlib.Path(work) / file.stem)
            counts[outcome] += 1
            print(f"{outcome:14} {file.stem:52} {line[:300]}", flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()))


if __name__ == "__main__":
    main()

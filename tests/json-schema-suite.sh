#!/usr/bin/env bash
# Fetches the JSON-Schema test suite (MIT) from the source archive of the PyPI package jsonschema, and writes the groups of draft 2020-12 into
# FOLDER in the form that `tests/tests/grammars` reads: `json-schema-suite.sh FOLDER`. Nothing of it is kept in the repository.
set -euo pipefail
FOLDER=${1:?usage: json-schema-suite.sh FOLDER}
VERSION=4.26.0
mkdir -p "$FOLDER"
[ -e "$FOLDER/type.json" ] && exit
archive=$(mktemp -d)
trap 'rm -rf "$archive"' EXIT
python3 -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: --dest "$archive" "jsonschema==$VERSION"
tar xzf "$archive/jsonschema-$VERSION.tar.gz" -C "$archive"
python3 - "$archive/jsonschema-$VERSION/json/tests/draft2020-12" "$FOLDER" <<'PYTHON'
import json
import pathlib
import sys

source, target = map(pathlib.Path, sys.argv[1:])
for file in sorted(source.glob("*.json")) + sorted(source.glob("optional/format/*.json")):
    groups = json.loads(file.read_text())
    values = lambda group, valid: [test["data"] for test in group["tests"] if test["valid"] == valid]
    cases = [{"schema": group["schema"], "valid": values(group, True), "invalid": values(group, False)} for group in groups]
    name = file.name if file.parent == source else f"format-{file.name}"
    (target / name).write_text(json.dumps(cases))
PYTHON

#!/usr/bin/env bash
# Builds the wheel, and that of a sample vendor, installs them into an empty environment and runs the tests there. Checks the types, too.
# Needs the hostile parsers that `guests` writes (cargo build --release -p tests --bin guests); without it the tests that use them are skipped,
# and that is said. The vendor's wheel needs `host` (cargo build --release) and hatchling from PyPI.
set -euo pipefail
cd "$(dirname "$0")/../../.."
guests=${CARGO_TARGET_DIR:-$PWD/target}/release/guests
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

host/bindings/python/wheel.sh "$made/dist"
host/bindings/python/vendor.sh "$made/dist"
ls -sh "$made"/dist/*.whl
echo "the wheels are built ($SECONDS s)"

python3 -m venv "$made/venv"
pip=("$made/venv/bin/pip" --quiet --disable-pip-version-check)
"${pip[@]}" install --no-index "$made"/dist/*.whl
"${pip[@]}" check
# The stubs say what the extension has, and the package keeps to its types.
tools=$(host/bindings/python/tools.sh "mypy>=2,<3")
mkdir "$made/typed"
ln -s "$("$made/venv/bin/python" -c 'import os, sluice_parsers; print(os.path.dirname(sluice_parsers.__file__))')" "$made/typed/sluice_parsers"
(cd "$made/typed" && PYTHONPATH=. MYPYPATH=. "$tools/python" -m mypy.stubtest sluice_parsers._native)
(cd "$made/typed" && "$tools/python" -m mypy --strict --ignore-missing-imports --allow-subclassing-any sluice_parsers)
if [ -x "$guests" ]; then
    mkdir "$made/guests"
    "$guests" "$made/guests"
    export SLUICE_GUESTS=$made/guests
fi
# From a folder of its own, so that what is installed is imported.
cp -r host/bindings/python/tests "$made/tests"
export SLUICE_PLUGINS=$PWD/plugins SLUICE_VENDOR=my-model
cd "$made/tests"
"$made/venv/bin/python" -X dev -m unittest discover --verbose 2>&1
echo "the wheel is tested ($SECONDS s)"

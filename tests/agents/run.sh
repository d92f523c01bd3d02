#!/usr/bin/env bash
# Runs real agents against the built server, whose outputs are scripted: `run.sh [AGENT…]`; see README.md.
set -euo pipefail
cd "$(dirname "$0")"

ALL=(light litellm libraries mastra coding codex claude-code launch gguf)
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
    # Not `npm ci`: it refuses lock files without the packages of other platforms, which not every registry has.
    (cd "$1" && npm install --no-save --no-audit --no-fund --loglevel=error)
    cp "$1/package-lock.json" "$1/node_modules/.installed"
}

# llama.cpp as `tests/remote/build-llamacpp.sh` leaves it, and a Python for its converter.
LLAMACPP=${SLUICE_REMOTE_CACHE:-$PWD/../../target/remote}/llamacpp
TORCH=${SLUICE_TORCH_PYTHON:-python3}
lacks_converter() {
    [ -e "$LLAMACPP/source/convert_hf_to_gguf.py" ] || { echo "no llama.cpp in $LLAMACPP"; return; }
    [ -x "$LLAMACPP/build/bin/llama-quantize" ] || { echo "no llama-quantize in $LLAMACPP/build/bin"; return; }
    "$TORCH" -c 'import torch, transformers, sentencepiece' 2> /dev/null || echo "$TORCH lacks torch, transformers or sentencepiece"
}

gguf_files() {
    local folder=${CARGO_TARGET_DIR:-$PWD/../../target}/notes-model types=(Q8_0 Q4_K_M)
    if ! cmp -s notes_model.py "$folder/made-by" || ! cmp -s notes_turns.py "$folder/made-of"; then
        rm -rf "$folder" && mkdir -p "$folder"
        "$TORCH" notes_model.py "$LLAMACPP" "$folder" "${types[@]}" 2> "$folder/log" || { tail -20 "$folder/log" >&2; exit 1; }
        cp notes_turns.py "$folder/made-of"
        cp notes_model.py "$folder/made-by"
    fi
    SLUICE_GGUF_FILES=$(printf "$(realpath "$folder")/notes-%s.gguf " "${types[@]}")
    export SLUICE_GGUF_FILES
}

tests=()
python_of light # pytest is in it
for agent in "${agents[@]}"; do
    case $agent in
    light) node_of light ;;
    litellm) python_of litellm ;;
    libraries) ;; # each program names its packages, and uv keeps their environments
    mastra | coding | codex | claude-code) node_of "$agent" ;;
    launch)
        python_of launch
        for folder in codex claude-code coding launch; do node_of "$folder"; done
        ;;
    gguf)
        missing=$(lacks_converter)
        if [ -n "$missing" ]; then
            echo "skipped: gguf ($missing)"
            continue
        fi
        for folder in codex coding; do node_of "$folder"; done
        gguf_files
        ;;
    *) echo "no agent $agent; there are: ${ALL[*]}" >&2; exit 1 ;;
    esac
    tests+=(test_"${agent//-/_}"*.py)
done
[ ${#tests[@]} -gt 0 ] || exit 0
light/.venv/bin/python -m pytest -q -p no:cacheprovider "${tests[@]}"

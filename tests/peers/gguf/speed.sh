#!/usr/bin/env bash
# Compares the speed of the CPU engine with llama.cpp's (b11434) on the same GGUF files: random weights in the shapes of `models/*.json` (or those named,
# `speed.sh qwen3-0.6b`), written by llama.cpp's converter and quantised by llama-quantize. Files stay in `SLUICE_GGUF_FILES`, a cache outside the
# repository; about 4 GB a model. `SLUICE_HOST` is a server that is built already, `TORCH_PYTHON` a Python with torch and transformers; KINDS, ROUNDS,
# THREADS, TOKENS and CSV are those of `engines/measure.py`.
set -euo pipefail
FROM=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$FROM/../../.." && pwd)
CACHE=${SLUICE_REMOTE_CACHE:-$ROOT/target/remote}/llamacpp
FILES=${SLUICE_GGUF_FILES:-${XDG_CACHE_HOME:-$HOME/.cache}/sluice/gguf}
KINDS=${KINDS:-Q4_K_M,Q5_K_M,Q6_K,Q8_0,IQ4_XS}
cd "$ROOT"
tests/remote/build-llamacpp.sh llama-bench llama-batched-bench llama-quantize >&2
if [ -z "${SLUICE_HOST:-}" ]; then
    cargo build --release --locked --workspace --bin host >&2
    SLUICE_HOST=${CARGO_TARGET_DIR:-$ROOT/target}/release/host
fi
torch_python() {
    if [ -z "${TORCH_PYTHON:-}" ]; then
        [ -e "$CACHE/torch/done" ] || {
            python3 -m venv "$CACHE/torch"
            "$CACHE/torch/bin/pip" install --quiet --disable-pip-version-check torch==2.15.0 transformers==5.24.0
            touch "$CACHE/torch/done"
        }
        TORCH_PYTHON=$CACHE/torch/bin/python
    fi
    "$TORCH_PYTHON" "$@"
}
# Writes what is missing of a model's files.
files_of() {
    local model=$1 kind source=$FILES/$1.source
    for kind in ${KINDS//,/ }; do
        [ -e "$FILES/$model/$kind.gguf" ] && continue
        [ -e "$source" ] || torch_python "$FROM/make.py" "$CACHE/source" "$FROM/models/$model.json" "$source" > "$source.log" 2>&1
        "$CACHE/build/bin/llama-quantize" "$source" "$FILES/$model/new" "$kind" > "$source.log" 2>&1
        mv "$FILES/$model/new" "$FILES/$model/$kind.gguf"
    done
    rm -f "$source"
}
[ $# -gt 0 ] || set -- qwen3-0.6b gemma-3-1b qwen3.5-0.8b
for model; do
    mkdir -p "$FILES/$model"
    files_of "$model"
    KINDS=$KINDS DEPTH=0 "$CACHE/venv/bin/python" "$FROM/../engines/measure.py" "$SLUICE_HOST" "$CACHE/build/bin" "$FILES/$model"
done

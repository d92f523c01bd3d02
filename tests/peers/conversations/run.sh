#!/usr/bin/env bash
# Holds conversations of up to 20 turns with our server and with llama.cpp's (b11434), on a model of Qwen3.5's shape that is made here, with Qwen3.5's
# own template and the vocabulary that llama.cpp's source has: prints what each computes of every prompt. `SLUICE_HOST` is a server that is built already.
set -euo pipefail
FROM=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$FROM/../../.." && pwd)
CACHE=${SLUICE_REMOTE_CACHE:-$ROOT/target/remote}/llamacpp
OUT=$ROOT/target/conversations
cd "$ROOT"
tests/remote/build-llamacpp.sh llama-server llama-quantize >&2
if [ -z "${SLUICE_HOST:-}" ]; then
    cargo build --release --locked --workspace --bin host >&2
    SLUICE_HOST=${CARGO_TARGET_DIR:-$ROOT/target}/release/host
fi
mkdir -p "$OUT"
if [ ! -e "$OUT/talker.gguf" ]; then
    MODELS=$CACHE/source/models
    "$CACHE/venv/bin/python" "$FROM/make_model.py" "$MODELS/ggml-vocab-qwen35.gguf" "$MODELS/templates/Qwen3.5-4B.jinja" "$OUT/bf16.gguf"
    "$CACHE/build/bin/llama-quantize" "$OUT/bf16.gguf" "$OUT/talker.gguf" Q4_0 > "$OUT/quantize.log" 2>&1
    rm "$OUT/bf16.gguf"
fi
exec "$CACHE/venv/bin/python" "$FROM/converse.py" "$SLUICE_HOST" "$CACHE/build/bin/llama-server" "$OUT/talker.gguf" "$@"

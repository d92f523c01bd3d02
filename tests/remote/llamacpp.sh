#!/usr/bin/env bash
# Runs a llama.cpp server with qwen3-tiny, built from source: `llamacpp.sh PORT [ARGUMENT…]` serves until it is stopped; see README.md.
set -euo pipefail
cd "$(dirname "$0")"
PORT=${1:?usage: llamacpp.sh PORT [ARGUMENT…]}
CACHE=${SLUICE_REMOTE_CACHE:-$PWD/../../target/remote}/llamacpp
./build-llamacpp.sh llama-server
./model.sh "$CACHE/qwen3-tiny"
"$CACHE/venv/bin/python" make_gguf.py "$CACHE/qwen3-tiny" "$CACHE/qwen3-tiny.gguf"
exec "$CACHE/build/bin/llama-server" -m "$CACHE/qwen3-tiny.gguf" --alias qwen3-tiny --host 127.0.0.1 --port "$PORT" \
    --threads 1 --ctx-size 131072 --parallel 4 --flash-attn off --cache-type-k f32 --cache-type-v f32 --metrics --no-webui "${@:2}"

#!/usr/bin/env bash
# Compares the CPU engine with llama.cpp, on random weights in the shape of Qwen3-0.6B (or `run.sh CONFIG.json`): builds both, makes the models in
# target/engines, and prints one table. `SLUICE_HOST` is a server that is built already, `ROUNDS` the number of measurements of each (alternately).
set -euo pipefail
FROM=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$FROM/../../.." && pwd)
CONFIG=$(realpath "${1:-$FROM/qwen3-0.6b.json}")
OUT=$ROOT/target/engines/$(basename "$CONFIG" .json)
CACHE=${SLUICE_REMOTE_CACHE:-$ROOT/target/remote}/llamacpp
mkdir -p "$OUT"
cd "$ROOT"
tests/remote/build-llamacpp.sh llama-bench llama-batched-bench llama-quantize >&2
if [ -z "${SLUICE_HOST:-}" ]; then
    cargo build-dist --locked --package host >&2
    SLUICE_HOST=${CARGO_TARGET_DIR:-$ROOT/target}/dist/host
fi
cp "$CONFIG" "$OUT/config.json"
[ -e "$OUT/stored.gguf" ] || "$CACHE/venv/bin/python" "$FROM/make_gguf.py" "$CONFIG" "$OUT/stored.gguf"
kinds="Q8_0 Q4_K_M"
if grep -q quantization_config "$CONFIG"; then kinds=; fi
for kind in $kinds; do
    [ -e "$OUT/$kind.gguf" ] || "$CACHE/build/bin/llama-quantize" "$OUT/stored.gguf" "$OUT/$kind.gguf" "$kind" > "$OUT/$kind.log" 2>&1
done
exec "$CACHE/venv/bin/python" "$FROM/measure.py" "$SLUICE_HOST" "$CACHE/build/bin" "$OUT"

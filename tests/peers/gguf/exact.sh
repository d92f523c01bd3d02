#!/usr/bin/env bash
# Measures how near our computation from GGUF files and llama.cpp's (b11434) are to the one in f32 from the same files (transformers):
# `exact.sh MODEL.gguf…`, by default the files that run.sh fetches: next-token distributions of all positions (logits.py), greedy answers through
# both servers (greedy.py), and answers to ten questions as tables (answers.py). Its environment of Python takes several GB once. `SLUICE_THREADS` is
# the number of threads of llama.cpp and transformers.
set -euo pipefail
FROM=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$FROM/../../.." && pwd)
export SLUICE_REMOTE_CACHE=${SLUICE_REMOTE_CACHE:-$ROOT/target/remote}
LLAMA=$SLUICE_REMOTE_CACHE/llamacpp
OUT=$ROOT/target/gguf
BUILT=${CARGO_TARGET_DIR:-$ROOT/target}/release
cd "$ROOT"
[ $# -gt 0 ] || set -- "$OUT/smollm2.gguf" "$OUT/gemma3.gguf"
mkdir -p "$OUT"
if ! cmp -s "$FROM/requirements.txt" "$OUT/venv/requirements.txt"; then
    rm -rf "$OUT/venv"
    python3 -m venv "$OUT/venv"
    "$OUT/venv/bin/pip" install --quiet --disable-pip-version-check -r "$FROM/requirements.txt"
    cp "$FROM/requirements.txt" "$OUT/venv/"
fi
tests/remote/build-llamacpp.sh llama-server >&2
cc -O2 -Wall -Wextra -I"$LLAMA/source/include" -I"$LLAMA/source/ggml/include" "$FROM/logits.c" -o "$OUT/logits" -L"$LLAMA/build/bin" -lllama -lggml \
    -lggml-base -Wl,-rpath,"$LLAMA/build/bin"
cargo build --release --locked --workspace --bin host --example logits >&2
status=0
"$OUT/venv/bin/python" "$FROM/logits.py" "$BUILT/examples/logits" "$OUT/logits" "$@" || status=1
"$OUT/venv/bin/python" "$FROM/greedy.py" "$BUILT/host" "$LLAMA/build/bin/llama-server" "$@" || status=1
"$OUT/venv/bin/python" "$FROM/answers.py" "$BUILT/host" "$LLAMA/build/bin/llama-server" "$@" || status=1
exit $status

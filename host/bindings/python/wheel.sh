#!/usr/bin/env bash
# Builds the wheel into a folder: `wheel.sh DIR [PROFILE]`, with the profile `release` unless another is named. Libraries come from what the workspace
# has built already. With `dist`, what others install: small, and for every Linux with glibc 2.28 or newer, since zig links it.
set -euo pipefail
out=$(realpath -m "$1") profile=${2:-release}
cd "$(dirname "$0")/../../.."
target=${CARGO_TARGET_DIR:-$PWD/target}
link=() needs=()
[ "$profile" != dist ] || link=(--zig --compatibility manylinux_2_28) needs=("ziglang>=0.17,<0.18")
tools=$(host/bindings/python/tools.sh "${needs[@]}")
# maturin looks for zig in this Python.
PATH=$tools:$PATH
maturin build --quiet --locked --profile "$profile" "${link[@]}" --interpreter python3 --manifest-path host/bindings/python/Cargo.toml --target-dir "$target" --out "$out"

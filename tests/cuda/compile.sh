#!/usr/bin/env bash
# Compiles every kernel in every variant for sm_80 and sm_90a, as the server would; needs no GPU. `CUDA_ARCHS=90` leaves sm_80 out, which is
# checked by night. `compile.sh NAME` compiles only sources whose names contain NAME; `compile.sh install` only fetches the compiler.
set -euo pipefail
cd "$(dirname "$0")/../.."

command -v python3 >/dev/null || { echo "this check needs python3 3.10 or newer with venv (Debian: python3-venv)" >&2; exit 1; }
TARGET=${CARGO_TARGET_DIR:-$PWD/target}
BUILT=$TARGET/cuda
if ! cmp -s tests/cuda/requirements.txt "$BUILT/venv/requirements.txt"; then
    rm -rf "$BUILT/venv"
    python3 -m venv "$BUILT/venv"
    "$BUILT/venv/bin/pip" install --quiet --disable-pip-version-check -r tests/cuda/requirements.txt
    cp tests/cuda/requirements.txt "$BUILT/venv/"
fi

[ "${1:-}" = install ] && exit

rm -rf "$BUILT/variants"
# With the workspace, and not for a package, whose dependencies would have other features and be built again.
cargo build --quiet --release --locked --workspace --example variants
# shellcheck disable=SC2086 # a list of words
"$TARGET/release/examples/variants" "$BUILT/variants" ${CUDA_ARCHS:-80 90}
"$BUILT/venv/bin/python" tests/cuda/compile.py "$BUILT/variants" "${1:-}"

# Tests how the server itself uses the compiler: its libraries in a folder, its cache.
LIBS=$(echo "$BUILT"/venv/lib/python3*/site-packages/nvidia/cu13/lib)
ENGINE_TESTS_CUDA_LIBS=$LIBS cargo test --quiet --release --locked --workspace --lib -- --ignored cuda::tests::nvrtc |
    tee >(cat >&2) | grep '^test result: ok\. 1 passed' > /dev/null

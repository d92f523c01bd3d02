#!/usr/bin/env bash
# Makes a parser's crate, builds and tests it with cargo-component, and proves with `host parser test` what was built.
# Not part of the ordinary tests: cargo-component, where it isn't installed, takes some ten minutes to build.
#
# What is missing goes into plugins/examples/.tools and plugins/.toolchain, which git ignores:
# cargo-component, a wasm32 target that rustup can't add, and Wasmtime (as a Python package) where its command-line tool isn't there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
ROOT=$PWD
TOOLS=$ROOT/plugins/examples/.tools
VERSION=0.21.1

host() { cargo run -q --release --locked --manifest-path "$ROOT/Cargo.toml" -p host -- "$@"; }

for target in wasm32-unknown-unknown wasm32-wasip1; do
  [ -d "$(rustc --print target-libdir --target $target)" ] && continue
  rustup target add $target 2> /dev/null && continue
  plugins/wasm-toolchain.sh plugins/.toolchain $target
  export PATH=$ROOT/plugins/.toolchain/bin:$PATH
done

export PATH=$TOOLS/bin:$PATH
if ! cargo component --version > /dev/null 2>&1; then
  cargo install cargo-component --version $VERSION --locked --root "$TOOLS"
fi

if [ -z "${CARGO_TARGET_WASM32_WASIP1_RUNNER:-}" ] && ! command -v wasmtime > /dev/null; then
  [ -x "$TOOLS/python/bin/python" ] || python3 -m venv "$TOOLS/python"
  "$TOOLS/python/bin/pip" install -q wasmtime==50.0.1
  export CARGO_TARGET_WASM32_WASIP1_RUNNER="$TOOLS/python/bin/python $ROOT/plugins/examples/run_wasi.py"
fi

CRATE=$(mktemp -d)/my-model
trap 'rm -rf "$(dirname "$CRATE")"' EXIT
host parser new my-model --dir "$CRATE"
cd "$CRATE"
(
  export CARGO_TARGET_DIR=$CRATE/target
  cargo component test -- --nocapture
  cargo component build --release --target wasm32-unknown-unknown
)
host parser test target/wasm32-unknown-unknown/release/my_model_parser.wasm --cases cases

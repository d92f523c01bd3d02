#!/usr/bin/env bash
# Types what an author types with cargo-component: in a new crate and in every parser of this repository, `cargo component test` passes; what
# plain `cargo component build` makes is refused with the command to use, and what that command makes passes `host parser test`.
# Not part of the ordinary tests: cargo-component, where it isn't installed, takes some ten minutes to build. `tests/nightly.sh` runs it
# where it is.
#
# What is missing goes into plugins/examples/.tools and plugins/.toolchain, which git ignores:
# cargo-component, a wasm32 target that rustup can't add, and Wasmtime (as a Python package) where its command-line tool isn't there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
ROOT=$PWD
TOOLS=$ROOT/plugins/examples/.tools
VERSION=0.21.1

if [ -z "${SLUICE_HOST:-}" ]; then
  cargo build -q --release --locked --bin host
  SLUICE_HOST=${CARGO_TARGET_DIR:-$ROOT/target}/release/host
fi
host() { "$SLUICE_HOST" "$@"; }

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

WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
host parser new my-model --dir "$WORK/my-model"

# Builds as typed without a target, reads the command out of the refusal, and follows it.
build_as_told() {
  local name=$1 refusal told built=$CARGO_TARGET_DIR/wasm32
  cargo component build -q
  refusal=$(host parser inspect "$built-wasip1/debug/${name//-/_}_parser.wasm" 2>&1) && { echo "$name: not refused" >&2; return 1; }
  told=$(grep -o 'cargo component build [^`]*' <<< "$refusal")
  echo "== $name: $told"
  (eval "$told -q")
  host parser test "$built-unknown-unknown/release/${name//-/_}_parser.wasm" --cases cases > "$WORK/report" || { cat "$WORK/report"; return 1; }
}

for folder in "$WORK/my-model" "$ROOT"/plugins/*/cases; do
  folder=${folder%/cases}
  name=$(basename "$folder")
  case $name in template | examples) continue ;; esac
  cd "$folder"
  export CARGO_TARGET_DIR=$ROOT/target/cargo-component
  [ "$name" != my-model ] || CARGO_TARGET_DIR=$WORK/target
  echo "== $name: cargo component test"
  cargo component test -q -- --nocapture
  build_as_told "$name"
done
echo "a new crate and every parser: tested, refused with the command, built by it, proved"

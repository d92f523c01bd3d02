#!/usr/bin/env bash
# What a model's vendor does, in an empty folder: a parser is made, built and proved, and becomes a wheel. `vendor.sh DIR` leaves the wheel of the sample
# parser `my-model` in DIR.
set -euo pipefail
out=$(realpath -m "$1")
cd "$(dirname "$0")/../../.."
host=${SLUICE_HOST:-${CARGO_TARGET_DIR:-$PWD/target}/release/host}
target=${CARGO_TARGET_DIR:-$PWD/target}/vendor
pip=$(host/bindings/python/tools.sh)/pip
# Where rustup has no target for WebAssembly, as in plugins/build.sh.
[ -d "$(rustc --print sysroot)/lib/rustlib/wasm32-unknown-unknown/lib" ] || plugins/wasm-toolchain.sh plugins/.toolchain >&2
PATH=$PWD/plugins/.toolchain/bin:$PATH
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
cd "$made"

"$host" parser new my-model >new.txt
cd my-model
CARGO_TARGET_DIR=$target cargo build --quiet --release --locked --target wasm32-unknown-unknown
cp "$target/wasm32-unknown-unknown/release/my_model_parser.wasm" my-model.wasm
"$host" parser test my-model.wasm --cases cases >../proof.txt || { cat ../proof.txt >&2; exit 1; }
"$pip" --quiet --disable-pip-version-check wheel --no-deps --wheel-dir "$out" .

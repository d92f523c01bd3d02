#!/usr/bin/env bash
# Lints and tests of the adapters for Rust gateways, over the cases of every parser and the inputs of the other projects' own tests, which are
# read where cargo unpacked their packages. Then their examples.
set -euo pipefail
cd "$(dirname "$0")/../../.."
gateways=(--release --locked --manifest-path host/bindings/gateways/Cargo.toml)

cargo build --release --locked --package tests --bin guests
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
"${CARGO_TARGET_DIR:-$PWD/target}/release/guests" "$made"
export SLUICE_GUESTS=$made

cargo fmt --manifest-path host/bindings/gateways/Cargo.toml --all --check
cargo clippy "${gateways[@]}" --workspace --all-targets -- -D warnings
cargo test "${gateways[@]}" --workspace
# Tests have built them.
for name in dynamo symphony; do
    "${CARGO_TARGET_DIR:-host/bindings/gateways/target}/release/examples/read_with_$name"
done

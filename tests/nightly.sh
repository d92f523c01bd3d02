#!/usr/bin/env bash
# What takes too long for every commit: 500 runs of a parser's proof under load, and the benchmarks of starts and bodies. Fails if a proof
# does; benchmarks print their figures and fail nothing. Give it a machine that does nothing else.
set -euo pipefail
cd "$(dirname "$0")/.."

echo "== host, release"
cargo build --release --locked --workspace --bins --benches
export SLUICE_HOST=${CARGO_TARGET_DIR:-$PWD/target}/release/host

echo "== 500 runs of harmony's proof while every core is busy"
tests/soak-parser-test.sh 500 harmony

echo "== starts"
tests/start.sh

echo "== what bodies cost"
cargo bench --profile release --locked --workspace --bench bodies

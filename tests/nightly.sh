#!/usr/bin/env bash
# Runs the tests that take too long for every commit: property tests with ten times as many cases, ten thousand instances of a parser, 500 kills
# of a process that writes to the store and of a server under fifty clients, 500 runs of a parser's proof under load and 10 of each other's and each table's,
# the GPU engine's tests and the script for GPUs on a simulated CUDA, the JSON-Schema test suite in every
# format's grammars, every order of threads, and the benchmarks of starts and bodies. Fails if a test or a proof fails; benchmarks print their
# figures and never fail. Run it on a machine without other work.
set -euo pipefail
cd "$(dirname "$0")/.."

echo "== host, release"
cargo build --release --locked --workspace --bins --benches
export SLUICE_HOST=${CARGO_TARGET_DIR:-$PWD/target}/release/host

echo "== property tests with many cases, ten thousand instances, 500 kills of the store's process and of the server, and the GPU engine on a simulated CUDA"
PROPTEST_CASES=2560 SLUICE_INSTANCES=10000 SLUICE_STORE_KILLS=500 SLUICE_SERVER_KILLS=500 ENGINE_TESTS_ON_SIMULATOR=all cargo test --release --locked --workspace

echo "== the script for GPUs on a simulated one"
tests/cuda/simulated.sh

echo "== the JSON-Schema test suite in every format's grammars"
SUITE=${CARGO_TARGET_DIR:-$PWD/target}/json-schema-suite
tests/json-schema-suite.sh "$SUITE"
SLUICE_SCHEMAS=$SUITE cargo test --release --locked --workspace --test grammars schemas:: -- --nocapture

echo "== threads in every order"
cargo run --locked --manifest-path tests/interleavings/Cargo.toml --target-dir "${CARGO_TARGET_DIR:-target}"

echo "== 500 runs of harmony's proof while every core is busy"
tests/soak-parser-test.sh 500 harmony

echo "== 10 runs of the proof of every parser and table, each with its seed"
for file in plugins/*.wasm plugins/tables/*.json; do
  parser=$(basename "${file%.*}")
  tests/soak-parser-test.sh 10 "$parser"
done

echo "== parsers with cargo-component"
if cargo component --version > /dev/null 2>&1; then
  plugins/examples/cargo-component.sh
else
  echo "skipped: cargo-component is not installed"
fi

echo "== parsers in Python and JavaScript"
plugins/examples/run.sh

echo "== starts"
tests/start.sh

echo "== what bodies cost"
cargo bench --profile release --locked --workspace --bench bodies

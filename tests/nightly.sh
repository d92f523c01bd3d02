#!/usr/bin/env bash
# Runs the tests that take too long for every commit: property tests with ten times as many cases, ten thousand instances of a parser, 500 kills
# of a process that writes to the store and of a server under fifty clients, 500 runs of a parser's proof under load and 10 of each other's and each table's,
# the GPU engine's tests, the server's and the script for GPUs on a simulated CUDA, the machine code of kernels for every architecture, the
# JSON-Schema test suite in every format's grammars, calls of plain tools, published chat templates, every order of threads, adapters for Rust gateways, advisories on dependencies, and the benchmarks of starts and bodies.
# Fails if a test or a proof fails; benchmarks print their figures and never fail. Run it on a machine without other work.
set -euo pipefail
cd "$(dirname "$0")/.."

echo "== host, release"
cargo build --release --locked --workspace --bins --benches
BUILT=${CARGO_TARGET_DIR:-$PWD/target}
export SLUICE_HOST=$BUILT/release/host

echo "== property tests with many cases, ten thousand instances, 500 kills of the store's process and of the server, a thousand replays"
PROPTEST_CASES=2560 SLUICE_REPLAYS=1050 SLUICE_INSTANCES=10000 SLUICE_STORE_KILLS=500 SLUICE_SERVER_KILLS=500 tests/postgres.sh cargo test --release --locked --workspace

echo "== the simulated CUDA, and the GPU engine and the server on it"
cargo fmt --manifest-path tests/cuda-simulator/Cargo.toml --check
SIMULATOR=(--release --locked --manifest-path tests/cuda-simulator/Cargo.toml --target-dir "$BUILT")
cargo clippy "${SIMULATOR[@]}" --all-targets -- -D warnings
cargo test "${SIMULATOR[@]}"
export CUDA_SIMULATOR=$BUILT/cuda/simulator
cargo run "${SIMULATOR[@]}" --example install -- "$CUDA_SIMULATOR"
# Tests that the day leaves out; it's an error if there are none.
ran() { tee >(cat >&2) | grep '^test result: ok\. [1-9]' > /dev/null; }
cargo test --release --locked --workspace --lib -- --ignored cuda::tests::on_simulator | ran
cargo test --release --locked --workspace --test process -- --ignored gpu:: | ran

echo "== a crate that is derived from a chat template, built and proved"
# The toolchain that built the parsers, where there is no other for WebAssembly.
PATH=$PWD/plugins/.toolchain/bin:$PATH cargo test --release --locked --workspace --test cli -- --ignored derived_crate | ran

echo "== the crates that others use, built as they are packed"
tests/packages.sh

echo "== the script for GPUs on a simulated one"
tests/cuda/simulated.sh

echo "== machine code of CUDA kernels"
tests/cuda/compile.sh

echo "== thousands of requests made from the OpenAPI document"
tests/openapi.sh

echo "== the JSON-Schema test suite in every format's grammars"
SUITE=$BUILT/json-schema-suite
tests/json-schema-suite.sh "$SUITE"
SLUICE_SCHEMAS=$SUITE cargo test --release --locked --workspace --test grammars schemas:: -- --nocapture

echo "== calls that nobody asked to be strict, from three tiny models, and from random weights behind a tokenizer of SentencePiece's kind"
for model in qwen3-tiny kimi-tiny gpt-oss-tiny; do
  tests/agents/calls.py --prompts 200 --serve "--model host/models/$model"
done
PYTHONPATH=tests/agents python3 -c "import models; models.make_sentence_piece('$BUILT/sentence-piece')"
tests/agents/calls.py --prompts 200 --serve "--model $BUILT/sentence-piece/qwen3 --load-format dummy --context 16384" --least-calls 10

echo "== threads in every order"
cargo run --locked --manifest-path tests/interleavings/Cargo.toml --target-dir "$BUILT"

echo "== parsers behind the traits of Rust gateways"
host/bindings/gateways/test.sh

echo "== 500 runs of harmony's proof while every core is busy"
tests/soak-parser-test.sh 500 harmony

echo "== 10 runs of the proof of every parser and table, each with its seed"
for file in plugins/*.wasm plugins/tables/*.json; do
  parser=$(basename "${file%.*}")
  tests/soak-parser-test.sh 10 "$parser"
done

echo "== published chat templates: their prompts, and which parser reads what they write"
tests/templates/run.sh

echo "== parsers with cargo-component"
if cargo component --version > /dev/null 2>&1; then
  plugins/examples/cargo-component.sh
else
  echo "skipped: cargo-component is not installed"
fi

echo "== parsers in Python and JavaScript"
plugins/examples/run.sh

echo "== the pages in a browser"
SLUICE_GUESTS=$BUILT/release/guests tests/pages/run.sh

echo "== advisories"
if ! cargo deny --version > /dev/null 2>&1; then
  echo "skipped: cargo-deny is not installed"
elif ! cargo deny --locked fetch db; then
  echo "skipped: the list of advisories can't be fetched"
else
  cargo deny --locked check --disable-fetch advisories
fi

echo "== the dashboard's queries, on a Prometheus"
if command -v prometheus > /dev/null; then
  tests/dashboard/run.py
else
  echo "skipped: prometheus is not installed"
fi

echo "== packages"
tests/packaging/run.sh
tests/packaging/compose.py
tests/packaging/cluster.sh

echo "== the image"
if [ "$(id -u)" = 0 ]; then
  tests/packaging/image.sh
else
  echo "skipped: it needs root"
fi

echo "== starts"
tests/start.sh

echo "== what bodies cost"
cargo bench --profile release --locked --workspace --bench bodies

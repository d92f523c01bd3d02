#!/usr/bin/env bash
# Runs every test: the parser components against their sources, all Rust tests, then the real clients against the built server.
set -euo pipefail
cd "$(dirname "$0")/.."

# The clients are fetched while everything is built.
tests/clients/run.sh install &
CLIENTS=$!

echo "== parser components"
plugins/build.sh --check

echo "== Rust"
tests/postgres.sh cargo test --release --locked --workspace

echo "== real clients"
wait "$CLIENTS"
# `cargo test` has built the binaries, too.
BUILT=${CARGO_TARGET_DIR:-$PWD/target}/release
SLUICE_HOST=$BUILT/host SLUICE_GUESTS=$BUILT/guests tests/postgres.sh tests/clients/run.sh

# Real agents are run only if they are named (`SLUICE_AGENTS=light`), since they are 300 MB and more.
if [ -n "${SLUICE_AGENTS:-}" ]; then
    echo "== real agents: $SLUICE_AGENTS"
    # shellcheck disable=SC2086 # a list of words
    SLUICE_HOST=$BUILT/host tests/agents/run.sh $SLUICE_AGENTS
fi

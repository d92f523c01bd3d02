#!/usr/bin/env bash
# Packs the crates of which programs without the server are made, and builds what was packed: `packages.sh [--no-verify]`.
set -euo pipefail
cd "$(dirname "$0")/.."
crates=(sluice-bounds sluice-contract sluice-grammar sluice-seeded sluice-system sluice-turn sluice-parsers parser-sdk parser-kit)
cargo package --quiet --locked --allow-dirty "$@" "${crates[@]/#/--package=}"

#!/usr/bin/env bash
# Runs `host parser test` many times while every core is busy: no run may fail, whatever else the machine does.
#
#   tests/soak-parser-test.sh [RUNS] [PARSER]      500 runs of harmony by default; PARSER may be a shipped table
#
# SLUICE_HOST is the binary (target/release/host), SLUICE_BUSY the number of loops that keep the cores busy (the number of cores).
# Each run has its own seed. The output of a failing run is shown. The last line has the numbers of runs and of failures; the exit status is 1
# if a run failed.
set -euo pipefail
cd "$(dirname "$0")/.."

runs=${1:-500}
parser=${2:-harmony}
host=${SLUICE_HOST:-${CARGO_TARGET_DIR:-$PWD/target}/release/host}
busy=${SLUICE_BUSY:-$(nproc)}
if ! [[ $runs =~ ^[1-9][0-9]*$ ]]; then
    echo "soak: RUNS is a number from 1 on, not '$runs'" >&2
    exit 2
fi

proof=(parser test "$parser")
[ ! -e "plugins/$parser.wasm" ] || proof=(parser test "plugins/$parser.wasm" --cases "plugins/$parser/cases")

loops=()
log=$(mktemp)
trap 'kill "${loops[@]}" 2>/dev/null || true; rm -f "$log"' EXIT
for ((loop = 0; loop < busy; loop++)); do
    (while :; do :; done) &
    loops+=($!)
done

failed=0
for ((run = 1; run <= runs; run++)); do
    if ! "$host" "${proof[@]}" --seed "$run" >"$log" 2>&1; then
        failed=$((failed + 1))
        echo "run $run (seed $run) failed:"
        sed -n '/FAILED\|^error/,$p' "$log"
    fi
done
echo "$parser: $runs runs, $failed failures"
[ "$failed" -eq 0 ]

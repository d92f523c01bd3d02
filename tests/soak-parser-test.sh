#!/usr/bin/env bash
# Many runs of `host parser test` while every core is kept busy: none may fail, whatever the machine does meanwhile.
#
#   tests/soak-parser-test.sh [RUNS] [PARSER]      500 runs of harmony, unless told otherwise
#
# SLUICE_HOST names the binary (target/release/host), SLUICE_BUSY how many loops keep the cores busy (as many as there are cores).
# Each run has its own seed. What a failing run printed is shown. The last line says how many runs there were and how many failed; the exit
# status is 1 if any did.
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

loops=()
log=$(mktemp)
trap 'kill "${loops[@]}" 2>/dev/null || true; rm -f "$log"' EXIT
for ((loop = 0; loop < busy; loop++)); do
    (while :; do :; done) &
    loops+=($!)
done

failed=0
for ((run = 1; run <= runs; run++)); do
    if ! "$host" parser test "plugins/$parser.wasm" --cases "plugins/$parser/cases" --seed "$run" >"$log" 2>&1; then
        failed=$((failed + 1))
        echo "run $run (seed $run) failed:"
        sed -n '/FAILED\|^error/,$p' "$log"
    fi
done
echo "$parser: $runs runs, $failed failures"
[ "$failed" -eq 0 ]

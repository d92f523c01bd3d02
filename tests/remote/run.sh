#!/usr/bin/env bash
# Compares answers of real engines with those of the CPU engine, which have to be equal: `run.sh [vllm|llamacpp…]`; see README.md.
set -euo pipefail
cd "$(dirname "$0")"
HOST=${SLUICE_HOST:-../../target/release/host}
PORT=${PORT:-18480} # and the two after it
ENGINES=("$@")
[ ${#ENGINES[@]} -gt 0 ] || ENGINES=(vllm llamacpp)
FOLDER=$(mktemp -d)
STARTED=()
FAILED=0

stop() {
    [ ${#STARTED[@]} -eq 0 ] || kill "${STARTED[@]}" 2> /dev/null || true
    wait
    STARTED=()
}
trap 'stop; rm -rf "$FOLDER"' EXIT

# start NAME PORT SECONDS COMMAND…: starts the command and waits until /health answers 200.
start() {
    local name=$1 url=http://127.0.0.1:$2/health ends=$((SECONDS + $3))
    shift 3
    "$@" > "$FOLDER/$name.log" 2>&1 &
    STARTED+=($!)
    until curl --silent --fail --output /dev/null "$url"; do
        kill -0 "${STARTED[-1]}" 2> /dev/null && [ $SECONDS -lt $ends ] || { tail -30 "$FOLDER/$name.log" >&2; exit 1; }
        sleep 1
    done
}

serve() { start "$1" "$2" 60 "$HOST" serve --model "$FOLDER/qwen3-tiny" --seal-key none --store memory --listen "127.0.0.1:$2" "${@:3}"; }

./model.sh "$FOLDER/qwen3-tiny"
for engine in "${ENGINES[@]}"; do
    echo "== $engine"
    start "$engine" "$PORT" 3600 "./$engine.sh" "$PORT"
    serve local $((PORT + 1)) --threads 1
    serve remote $((PORT + 2)) --engine "http://127.0.0.1:$PORT"
    grep -E ' WARN |^engine ' "$FOLDER/remote.log" || true
    # The script of llama.cpp becomes its server, which is one process.
    process=()
    [ "$engine" != llamacpp ] || process=("${STARTED[0]}")
    python3 compare.py http://127.0.0.1:$((PORT + 1)) http://127.0.0.1:$((PORT + 2)) "http://127.0.0.1:$PORT" "${process[@]}" || FAILED=1
    if [ -x ../agents/codex/node_modules/.bin/codex ]; then
        python3 codex.py http://127.0.0.1:$((PORT + 1)) http://127.0.0.1:$((PORT + 2)) || FAILED=1
    fi
    stop
done
exit $FAILED

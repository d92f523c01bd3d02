#!/usr/bin/env bash
# Measures the time from the start of `host serve` to the first answer of /health: the first start (with an empty parser cache) and later ones.
#
# usage: tests/start.sh [HOST-BINARY [ROUNDS [ARGUMENT-OF-SERVE…]]]      prints the median and all times, in ms
set -euo pipefail
cd "$(dirname "$0")/.."
HOST=${1:-${CARGO_TARGET_DIR:-target}/release/host}
ROUNDS=${2:-7}
ARGUMENTS=("${@:3}")
PORT=${PORT:-18473}
FOLDER=$(mktemp -d)
SERVER=
trap '[ -z "$SERVER" ] || kill "$SERVER" 2> /dev/null; rm -rf "$FOLDER"' EXIT

# True if /health answers 200. It starts no process, which alone would take longer than a server's start.
healthy() {
  { exec 3<> "/dev/tcp/127.0.0.1/$PORT"; } 2> /dev/null || return 1
  printf 'GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n' >&3
  local status=
  read -r status <&3 || true
  exec 3>&-
  [[ $status == *" 200 "* ]]
}

# Starts the server once; prints the time in ms with one decimal.
start() {
  local began=${EPOCHREALTIME/./} ended
  "$HOST" serve --listen "127.0.0.1:$PORT" --parser-cache "$FOLDER/cache" --seal-key none --store memory "${ARGUMENTS[@]}" > "$FOLDER/log" 2>&1 &
  SERVER=$!
  until healthy; do
    kill -0 "$SERVER" 2> /dev/null || { cat "$FOLDER/log" >&2; exit 1; }
    read -rt 0.001 <> "$FOLDER/pause" || true
  done
  ended=${EPOCHREALTIME/./}
  kill "$SERVER"
  wait "$SERVER" 2> /dev/null || true
  SERVER=
  printf '%d.%d\n' $(((ended - began) / 1000)) $(((ended - began) / 100 % 10))
}

report() {
  local sorted
  mapfile -t sorted < <(sort -n "$2")
  echo "$1: ${sorted[$((${#sorted[@]} / 2))]} ms   (${sorted[*]})"
}

mkfifo "$FOLDER/pause"
for ((round = 0; round < ROUNDS; round++)); do
  rm -rf "$FOLDER/cache"
  start >> "$FOLDER/first"
  start >> "$FOLDER/later"
done
report "first start ever" "$FOLDER/first"
report "later           " "$FOLDER/later"

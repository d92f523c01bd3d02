#!/usr/bin/env bash
# Serves scripted words (docs/replay.md) with a reference tool server (the time, from PyPI) and asks one question: the answer streams
# by, the server's own call of the tool in the middle of it. With `--serve` the server goes on.
set -euo pipefail
HERE=$(cd "$(dirname "$0")" && pwd)
VENV=$HERE/python/.venv
[ -x "$VENV/bin/mcp-server-time" ] || {
    python3 -m venv "$VENV"
    "$VENV/bin/pip" install --quiet --disable-pip-version-check -r "$HERE/python/requirements.txt"
    cp "$HERE/python/requirements.txt" "$VENV/"
}
HOST=${SLUICE_HOST:-$HERE/../../target/release/host}
[ -x "$HOST" ] || { echo "build the server first: cargo build --release -p host" >&2; exit 1; }
ADDRESS=${SLUICE_ADDRESS:-127.0.0.1:8000}

WORK=$(mktemp -d)
trap 'kill "${SERVER:-}" 2>/dev/null || true; rm -rf "$WORK"' EXIT
cat >"$WORK/mcp.json" <<JSON
{"mcpServers": {"time": {"command": "$VENV/bin/mcp-server-time", "args": ["--local-timezone", "UTC"], "require_approval": "never"}}}
JSON
cat >"$WORK/replay.json" <<'JSON'
{"pace_ms": 20, "rules": [
  {"when": {"last_role": "user"}, "text": "<think>\nThe time server knows.\n</think>\n\n<tool_call>\n{\"name\": \"get_current_time\", \"arguments\": {\"timezone\": \"Asia/Tokyo\"}}\n</tool_call>"},
  {"text": "The answer is in the call above: its output is the time in Tokyo right now."}
]}
JSON
"$HOST" serve --engine "replay:$WORK/replay.json" --mcp "$WORK/mcp.json" --listen "$ADDRESS" >"$WORK/log" 2>&1 &
SERVER=$!
until curl -sf "http://$ADDRESS/health" >/dev/null; do
    kill -0 "$SERVER" 2>/dev/null || { cat "$WORK/log" >&2; exit 1; }
    sleep 0.2
done
curl -sN "http://$ADDRESS/v1/responses" -H 'content-type: application/json' -d '{
  "model": "qwen3-tiny", "stream": true, "temperature": 0, "stream_options": {"include_obfuscation": false},
  "input": "What time is it in Tokyo?", "tools": [{"type": "mcp", "server_label": "time"}]
}'
if [ "${1:-}" = --serve ]; then
    echo "serving on http://$ADDRESS until ctrl-c"
    wait "$SERVER"
fi

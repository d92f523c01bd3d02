#!/usr/bin/env bash
# Serves scripted outputs (docs/replay.md) with reference tool servers (the time, from PyPI; sums, from npm where Node.js is installed) and
# sends one question: the streamed answer shows the server's own calls of the tools. With `--serve` the server keeps running.
# The packages that have to be installed are printed first; they go into ignored folders beside this script, and nowhere else.
set -euo pipefail
HERE=$(cd "$(dirname "$0")" && pwd)
VENV=$HERE/python/.venv
EVERYTHING=$HERE/node/node_modules/@modelcontextprotocol/server-everything/dist/index.js
if [ ! -x "$VENV/bin/mcp-server-time" ]; then
    {
        echo "installing into $VENV, from PyPI:"
        sed -n 's/^[^#]/  &/p' "$HERE/python/requirements.txt"
    } >&2
    python3 -m venv "$VENV"
    "$VENV/bin/pip" install --quiet --disable-pip-version-check -r "$HERE/python/requirements.txt"
    cp "$HERE/python/requirements.txt" "$VENV/"
fi
if command -v npm >/dev/null && [ ! -f "$EVERYTHING" ]; then
    {
        echo "installing into $HERE/node/node_modules, from npm:"
        sed -n '/"devDependencies"/,/}/s/^ *"\([^"]*\)": "\([0-9][^"]*\)".*/  \1 \2/p' "$HERE/node/package.json"
    } >&2
    (cd "$HERE/node" && npm ci --no-audit --no-fund --loglevel=error >&2)
    cp "$HERE/node/package-lock.json" "$HERE/node/node_modules/.installed"
fi
HOST=${SLUICE_HOST:-$HERE/../../target/release/host}
[ -x "$HOST" ] || { echo "build the server first: cargo build --release -p host" >&2; exit 1; }
ADDRESS=${SLUICE_ADDRESS:-127.0.0.1:8000}

SERVERS='"time": {"command": "'$VENV'/bin/mcp-server-time", "args": ["--local-timezone", "UTC"], "require_approval": "never"}'
CALLS='<tool_call>\n{\"name\": \"get_current_time\", \"arguments\": {\"timezone\": \"Asia/Tokyo\"}}\n</tool_call>'
TOOLS='{"type": "mcp", "server_label": "time"}'
if command -v node >/dev/null && [ -f "$EVERYTHING" ]; then
    SERVERS+=', "sums": {"command": "node", "args": ["'$EVERYTHING'", "stdio"], "allowed_tools": ["get-sum"], "require_approval": "never"}'
    CALLS+='\n<tool_call>\n{\"name\": \"get-sum\", \"arguments\": {\"a\": 2, \"b\": 40}}\n</tool_call>'
    TOOLS+=', {"type": "mcp", "server_label": "sums"}'
fi

WORK=$(mktemp -d)
trap 'kill "${SERVER:-}" 2>/dev/null || true; rm -rf "$WORK"' EXIT
echo '{"mcpServers": {'"$SERVERS"'}}' >"$WORK/mcp.json"
cat >"$WORK/replay.json" <<JSON
{"pace_ms": 20, "rules": [
  {"when": {"last_role": "user"}, "text": "<think>\nThe tool servers know.\n</think>\n\n$CALLS"},
  {"text": "The answer is in the calls above: their outputs come from the tool servers."}
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
  "input": "What time is it in Tokyo, and what is 2 + 40?", "tools": ['"$TOOLS"']
}'
if [ "${1:-}" = --serve ]; then
    echo "serving on http://$ADDRESS until ctrl-c"
    wait "$SERVER"
fi

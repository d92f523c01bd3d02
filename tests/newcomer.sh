#!/usr/bin/env bash
# A newcomer's paths from a fresh clone, each step with its time: build, serve, curl, run, chat, a call of a tool by each protocol, a model of one's own
# from a hub, an agent, a parser of one's own (a table in the running server, and a component), a record replayed. The hub is one of this machine, with a
# small model of ours; the agent is a script unless AGENT names a real one that is installed (codex, which runs a command; claude, qwen, opencode, which
# answer). Fails at the first step that fails.
set -euo pipefail
# `grep -q` ends at its first match, and what writes into it may then fail.
ROOT=$(cd "$(dirname "$0")/.." && pwd)
FOLDER=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$FOLDER"' EXIT
cd "$FOLDER"

BEGAN=$(date +%s%N)
step() { echo "$(( ($(date +%s%N) - BEGAN) / 1000000 )) ms  $1"; BEGAN=$(date +%s%N); }
# Waits until a server's summary names its address.
address() { until sed -n 's/^address *//p' "$1" | grep -m1 .; do sleep 0.05; done; }

git clone --quiet "$ROOT" sluice
step "clone"
(cd sluice && cargo build --release --locked --quiet)
step "build"
export PATH=${CARGO_TARGET_DIR:-$FOLDER/sluice/target}/release:$PATH HOME=$FOLDER

host serve --listen 127.0.0.1:0 --store memory --record records > serve.txt 2> serve.log &
URL=$(address serve.txt)
step "serve"
curl -sSN "$URL/v1/responses" --json '{"model": "qwen3-tiny", "stream": true, "input": "Who are you?"}' | grep '^event: response.completed' > /dev/null
step "curl"
host run --url "$URL" "Who are you?" | grep . > /dev/null
step "run"
printf 'Who are you?\n' | host chat --url "$URL" | grep . > /dev/null
step "chat"

# Asks for the weather, which the model answers with a call of the tool.
PARAMETERS='{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}'
QUESTION='What is the weather in Helsinki?'
ask() { curl -sSf "$URL/v1/$1" --json "{\"model\": \"qwen3-tiny\", \"temperature\": 0, $2}" | grep -e get_weather | grep -q Helsinki; }
ask responses "\"input\": \"$QUESTION\", \"tools\": [{\"type\": \"function\", \"name\": \"get_weather\", \"parameters\": $PARAMETERS}]"
step "a tool call, Responses"
MESSAGES="\"messages\": [{\"role\": \"user\", \"content\": \"$QUESTION\"}]"
ask chat/completions "$MESSAGES, \"tools\": [{\"type\": \"function\", \"function\": {\"name\": \"get_weather\", \"parameters\": $PARAMETERS}}]"
step "a tool call, Chat Completions"
ask messages "$MESSAGES, \"max_tokens\": 400, \"tools\": [{\"name\": \"get_weather\", \"input_schema\": $PARAMETERS}]"
step "a tool call, Messages"

PYTHONPATH=$ROOT/tests/clients/python python3 - > hub.txt <<'END' &
import time
from hub import Hub, tiny_model
print("address", Hub({"me/my-model": tiny_model()}).url, flush=True)
time.sleep(3600)
END
HF_ENDPOINT=$(address hub.txt) HF_HOME=$FOLDER/hub host run -m me/my-model "Who are you?" | grep . > /dev/null
step "own model from a hub"

cat > agent <<'END'
#!/usr/bin/env bash
curl -sSf "$OPENAI_BASE_URL/chat/completions" -H "authorization: Bearer $OPENAI_API_KEY" --json "{\"model\": \"$OPENAI_MODEL\", \"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}" | grep content > /dev/null
END
if [ -n "${AGENT:-}" ]; then
    # The models here have too little context for the agents' own prompts, so one of them gets more, and a script answers in its place.
    declare -A ASK=([codex]="exec --skip-git-repo-check --yolo" [claude]=-p [qwen]=-p [opencode]=run)
    cp -r sluice/host/models/qwen3-tiny long
    sed -i 's/"max_position_embeddings": [0-9]*/"max_position_embeddings": 131072/' long/config.json
    cat > hello.json <<'END'
{"rules": [
  {"when": {"tool_declared": "exec_command", "tool_results": 0},
   "text": "<tool_call>\n{\"name\": \"exec_command\", \"arguments\": {\"cmd\": \"echo hello > from-the-model.txt\"}}\n</tool_call>"},
  {"text": "Hello from the model."}]}
END
    # shellcheck disable=SC2086 # its arguments are words
    host launch "$AGENT" -m "$FOLDER/long" --engine replay:hello.json -- ${ASK[$AGENT]} "Say hello." < /dev/null > said.txt
    grep -q "Hello from the model." said.txt
    [ "$AGENT" != codex ] || grep -q hello from-the-model.txt
else
    mkdir programs && mv agent programs/qwen && chmod +x programs/qwen
    PATH=$FOLDER/programs:$PATH host launch qwen --url "$URL"
fi
step "an agent"

# The table's first version doesn't know the model's tag; the running server takes the second.
mkdir -p plugins/tables
table() {
    cat > plugins/tables/.new <<END
{"about": "Calls as objects between call tags.", "markers": ["<|$1|>"],
 "response_template": {"defaults": {"role": "assistant"}, "fields": {"content": {}, "tool_calls": {
   "open": "<|$1|>", "close": "<|/$1|>", "repeats": true, "content": "json",
   "transform": {"type": "function", "function": {"name": "{content.name}", "arguments": "{content.arguments}"}}}}}}
END
    mv plugins/tables/.new plugins/tables/mine.json
}
table other
cat > script.json <<'END'
{"rules": [{"text": "<|call|>{\"name\": \"f\", \"arguments\": {}}<|/call|>"}]}
END
host serve --listen 127.0.0.1:0 --store memory --parser mine --engine replay:script.json > own.txt 2> own.log &
OWN=$(address own.txt)
calls() {
    curl -sSf "$OWN/v1/chat/completions" --json '{"model": "qwen3-tiny", "messages": [{"role": "user", "content": "Hi"}],
      "tools": [{"type": "function", "function": {"name": "f"}}]}' | grep tool_calls > /dev/null
}
! calls
table call
for _ in $(seq 300); do calls && break; sleep 0.1; done
calls
step "a parser of one's own in the running server"

for _ in $(seq 300); do host replay records/*.slrec > replayed.txt 2> replay.log && break; sleep 0.1; done
grep -q equal replayed.txt
step "a record replayed"

PATH=$ROOT/plugins/.toolchain/bin:$PATH
host parser new my-parser > /dev/null
(cd my-parser && cargo build --quiet --release --target wasm32-unknown-unknown)
host parser test my-parser/target/wasm32-unknown-unknown/release/*.wasm --cases my-parser/cases > proof.txt
step "a parser component of one's own, built and proved"

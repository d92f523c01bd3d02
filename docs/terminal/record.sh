#!/usr/bin/env bash
# Records `docs/terminal.svg`: the embedded model answers, and Codex works on a file. The commands, the server and Codex are real; what the model says
# to Codex is a script (`codex.json`), since the embedded model is no coder.
#
#   docs/terminal/record.sh        needs target/release/host, Python with venv, and npm
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
tools=$root/target/terminal
mkdir -p "$tools"
[ -x "$tools/bin/asciinema" ] || { python3 -m venv "$tools" && "$tools/bin/pip" install --quiet asciinema==2.4.0; }
[ -x "$tools/node_modules/.bin/svg-term" ] || npm install --silent --prefix "$tools" svg-term-cli@2.1.1 @openai/codex@0.171.0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/home" "$work/bin" "$work/hello"
ln -s "$root/target/release/host" "$tools"/node_modules/.bin/codex "$work/bin"
cd "$work/hello"
git init --quiet
echo 'print("Hello")' > hello.py
cp "$here/codex.json" ..
# Codex' own prompt is longer than the small model's context; the script doesn't mind.
cp -r "$root/host/models/qwen3-tiny" ../demo
sed -i 's/"max_position_embeddings": [0-9]*/"max_position_embeddings": 131072/' ../demo/config.json

export HOME=$work/home PATH=$work/bin:$PATH TERM=xterm-256color
"$tools/bin/asciinema" rec --quiet --overwrite --cols 92 --rows 34 --idle-time-limit 1.2 --command "$here/scene.sh" "$work/scene.cast"
"$tools/node_modules/.bin/svg-term" --in "$work/scene.cast" --out "$here/../terminal.svg" --window --no-cursor --padding 12

#!/usr/bin/env bash
# Makes a copy of qwen3-tiny in FOLDER whose configuration allows 32,768 tokens, so that the requests of real agents fit:
# `model.sh FOLDER`. The model's output beyond the 4,096 tokens for which it was trained is meaningless, but the same with every engine.
set -euo pipefail
FOLDER=${1:?usage: model.sh FOLDER}
cd "$(dirname "$0")/../../host/models/qwen3-tiny"
rm -rf "$FOLDER"
mkdir -p "$FOLDER"
cp chat_template.jinja generation_config.json model.safetensors tokenizer.json "$FOLDER/"
sed 's/"max_position_embeddings": 4096/"max_position_embeddings": 32768/' config.json > "$FOLDER/config.json"
sed 's/"model_max_length": 4096/"model_max_length": 32768/' tokenizer_config.json > "$FOLDER/tokenizer_config.json"

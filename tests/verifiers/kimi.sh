#!/usr/bin/env bash
# Runs Moonshot's own checks of a server (github.com/MoonshotAI/Kimi-Vendor-Verifier, MIT) against `host` with a tiny model of Kimi's format:
# `kimi.sh CHECKOUT [pytest's arguments…]`. They ask for a model that thinks and answers, so what a tiny one fails says nothing of the server;
# docs/formats.md has the table and the reasons. SLUICE_HOST names the binary; pytest is installed beside the build.
set -euo pipefail
[ -d "${1:-}/tests/k3_features" ] || { echo "usage: kimi.sh CHECKOUT: a clone of Kimi-Vendor-Verifier" >&2; exit 2; }
CHECKOUT=$(realpath "$1")
shift
cd "$(dirname "$0")/../.."
. tests/served.sh
venv kimi-verifier pytest==9.2.0 openai==3.57.0 httpx jsonschema pytest-rerunfailures
serve --model host/models/kimi-tiny --store none

cd "$CHECKOUT"
KIMI_BASE_URL=$ADDRESS/v1 KIMI_API_KEY=none MODEL_NAME=kimi-tiny THINK_MODE=kimi TOOL_JSON_REPORT=$FOLDER/report.json \
    "$TOOLS/bin/python" -m pytest -q -p no:cacheprovider "${@:-tests/k3_features}"

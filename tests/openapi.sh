#!/usr/bin/env bash
# Sends thousands of requests that schemathesis makes from /openapi.json, right ones and wrong ones, to the server: none may get a status of 500 or
# above, or one that the document doesn't name. SLUICE_HOST names the binary; schemathesis is installed beside the build.
set -euo pipefail
cd "$(dirname "$0")/.."
. tests/served.sh
venv schemathesis schemathesis==4.32.5
serve --store memory

cd "$FOLDER" # It leaves files.
"$TOOLS/bin/schemathesis" run "$ADDRESS/openapi.json" --url "$ADDRESS" --max-examples "${EXAMPLES:-10}" --seed 1 --workers 2 \
    --checks not_a_server_error,status_code_conformance --continue-on-failure
kill -0 "$SERVER"

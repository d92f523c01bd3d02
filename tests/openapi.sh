#!/usr/bin/env bash
# Sends thousands of requests that schemathesis makes from /openapi.json, right ones and wrong ones, to the server: none may get a status of 500 or
# above, or one that the document doesn't name. SLUICE_HOST names the binary; schemathesis is installed beside the build.
set -euo pipefail
cd "$(dirname "$0")/.."
BUILT=${CARGO_TARGET_DIR:-$PWD/target}
PACKAGE=schemathesis==4.32.5
TOOLS=$BUILT/schemathesis

if [ ! -e "$TOOLS/$PACKAGE" ]; then
    rm -rf "$TOOLS"
    python3 -m venv "$TOOLS"
    "$TOOLS/bin/pip" install --quiet --disable-pip-version-check "$PACKAGE"
    touch "$TOOLS/$PACKAGE"
fi

FOLDER=$(mktemp -d)
trap 'kill "$SERVER" 2>/dev/null || true; rm -rf "$FOLDER"' EXIT
"${SLUICE_HOST:-$BUILT/release/host}" serve --listen 127.0.0.1:0 --store memory > "$FOLDER/summary" 2> "$FOLDER/log" &
SERVER=$!
until ADDRESS=$(sed -n 's/^address *//p' "$FOLDER/summary") && [ -n "$ADDRESS" ]; do
    kill -0 "$SERVER" || { cat "$FOLDER/log" >&2; exit 1; }
    sleep 0.1
done

cd "$FOLDER" # It leaves files.
"$TOOLS/bin/schemathesis" run "$ADDRESS/openapi.json" --url "$ADDRESS" --max-examples "${EXAMPLES:-10}" --seed 1 --workers 2 \
    --checks not_a_server_error,status_code_conformance --continue-on-failure
kill -0 "$SERVER"

# Read by scripts that ask a server from outside. BUILT is the build's folder; SLUICE_HOST names the binary, if another is meant.
BUILT=${CARGO_TARGET_DIR:-$PWD/target}
FOLDER=$(mktemp -d)
SERVER=
trap 'kill $SERVER 2>/dev/null || true; rm -rf "$FOLDER"' EXIT

# venv NAME PACKAGE…: Python packages in a folder beside the build, which TOOLS names; installed once for the first one's version.
venv() {
    TOOLS=$BUILT/$1
    [ ! -e "$TOOLS/$2" ] || return 0
    rm -rf "$TOOLS"
    python3 -m venv "$TOOLS"
    "$TOOLS/bin/pip" install --quiet --disable-pip-version-check "${@:2}"
    touch "$TOOLS/$2"
}

# serve ARGUMENT…: starts a server and waits until it listens; ADDRESS is its URL.
serve() {
    "${SLUICE_HOST:-$BUILT/release/host}" serve --listen 127.0.0.1:0 "$@" > "$FOLDER/summary" 2> "$FOLDER/log" &
    SERVER=$!
    until ADDRESS=$(sed -n 's/^address *//p' "$FOLDER/summary") && [ -n "$ADDRESS" ]; do
        kill -0 "$SERVER" || { cat "$FOLDER/log" >&2; exit 1; }
        sleep 0.1
    done
}

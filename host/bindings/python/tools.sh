#!/usr/bin/env bash
# Says in which folder the programs are that wheels are built and looked at with: maturin, and those of the packages that are named. They are installed
# there once.
set -euo pipefail
cd "$(dirname "$0")/../../.."
tools=${CARGO_TARGET_DIR:-$PWD/target}/python-tools
[ -x "$tools/bin/pip" ] || python3 -m venv "$tools"
for package in "maturin>=1.16,<2" "$@"; do
    mark=$tools/.installed-${package%%[<>=]*}
    [ "$(cat "$mark" 2>/dev/null)" = "$package" ] && continue
    "$tools/bin/pip" --quiet --disable-pip-version-check install "$package" >&2
    echo "$package" >"$mark"
done
echo "$tools/bin"

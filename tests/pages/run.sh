#!/usr/bin/env bash
# Looks at the pages in a headless Chromium, against the built server (`cargo build --release`). Where there is no Chromium this is said,
# and nothing is tested; `SLUICE_BROWSER=1` makes that an error. `UPDATE_PICTURE=1` makes the picture of the README anew; `SLUICE_SHOTS=DIR` writes
# screenshots to look at.
set -euo pipefail
cd "$(dirname "$0")"

BROWSER=${SLUICE_CHROMIUM:-/usr/bin/chromium}
if [ ! -x "$BROWSER" ]; then
    echo "skipped: there is no $BROWSER (Debian: apt-get install chromium), so the pages were not tested" >&2
    [ -z "${SLUICE_BROWSER:-}" ]
    exit
fi
command -v npm >/dev/null || { echo "the pages' tests need npm, and Node.js 20 or newer (Debian: nodejs, npm)" >&2; exit 1; }
if ! cmp -s package-lock.json node_modules/.installed; then
    npm ci --no-audit --no-fund --loglevel=error
    cp package-lock.json node_modules/.installed
fi
# One browser at a time: pages that aren't in front draw no frames.
node --test --test-concurrency=1

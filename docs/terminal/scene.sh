#!/usr/bin/env bash
# What the README's terminal shows: commands as they are typed, and what they print. `record.sh` runs it in a folder of its own.
set -euo pipefail

# Types a command and runs it.
shell() {
    printf '\e[32m$\e[0m '
    for ((at = 0; at < ${#1}; at++)); do
        printf %s "${1:at:1}"
        sleep 0.03
    done
    echo
    eval "$1" < /dev/null
    sleep 1.5
}

shell 'host run "What can you do?"'
shell 'cat hello.py'
shell 'host launch codex -m ../demo --engine replay:../codex.json -- exec --yolo "Let hello.py greet Helsinki."'

#!/usr/bin/env bash
# Reduces what fuzzing found: keeps the smallest inputs that reach every branch, under names that git doesn't ignore, and removes the rest.
#
# usage: fuzz/reduce.sh TARGET...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
for target in "$@"; do
  corpus=corpus/$target
  kept=$(mktemp -d)
  # The seeds come first, so that no other input is kept for the branches that they reach. A branch counts once, however often it is taken.
  mkdir "$kept/seeds" "$kept/found"
  find "$corpus" -type f -regextype posix-extended -regex '.*/[0-9a-f]{40}' -exec mv -t "$kept/found" {} +
  cp "$corpus"/* "$kept/seeds/"
  cargo fuzz run --sanitizer none "$target" "$kept/seeds" "$kept/found" -- -set_cover_merge=1 -use_counters=0
  for input in "$kept/seeds"/*; do
    name=$(basename "$input")
    [ -e "$corpus/$name" ] || cp "$input" "$corpus/kept-${name:0:12}"
  done
  rm -rf "$kept"
  echo "$target: $(find "$corpus" -type f | wc -l) files, $(cat "$corpus"/* | wc -c) bytes"
done

#!/usr/bin/env bash
# Reduces what fuzzing found: keeps the smallest inputs that reach every branch, under names that git doesn't ignore, and removes the rest.
#
# usage: fuzz/reduce.sh NAME...      targets, or parsers, which the target `parser` plays
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
for name in "$@"; do
  corpus=corpus/$name
  target=parser
  [ ! -e "fuzz_targets/$name.rs" ] || target=$name
  kept=$(mktemp -d)
  # The seeds come first, so that no other input is kept for the branches that they reach. A branch counts once, however often it is taken.
  mkdir "$kept/seeds" "$kept/found"
  find "$corpus" -type f -regextype posix-extended -regex '.*/[0-9a-f]{40}' -exec mv -t "$kept/found" {} +
  cp "$corpus"/* "$kept/seeds/"
  PARSER=$name cargo fuzz run --sanitizer none "$target" "$kept/seeds" "$kept/found" -- -set_cover_merge=1 -use_counters=0
  for input in "$kept/seeds"/*; do
    file=$(basename "$input")
    [ -e "$corpus/$file" ] || cp "$input" "$corpus/kept-${file:0:12}"
  done
  rm -rf "$kept"
  echo "$name: $(find "$corpus" -type f | wc -l) files, $(cat "$corpus"/* | wc -c) bytes"
done

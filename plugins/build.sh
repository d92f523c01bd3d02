#!/usr/bin/env bash
# Builds every plugin of this folder into plugins/NAME.wasm, and the trial of grammars into host/grammar-trial/trial.wasm, byte for byte the
# same in any checkout.
#
# usage: plugins/build.sh            build and write
#        plugins/build.sh --check    write nothing; fail if a committed plugin doesn't fit its sources,
#                                    or differs from what the toolchain that built it makes of them now
set -euo pipefail
# Components must come out alike everywhere, whatever the user's own settings say.
export CARGO_INCREMENTAL=0
cd "$(dirname "${BASH_SOURCE[0]}")/.."
ROOT=$PWD
TARGET=wasm32-unknown-unknown
MODE=write
[ "${1:-}" = --check ] && MODE=check

# rustup's target where it is installed, else a toolchain of our own in an ignored folder.
has_target() { [ -d "$(rustc --print target-libdir --target "$TARGET")" ]; }
find_toolchain() {
  has_target && return
  local own=$ROOT/plugins/.toolchain
  if [ ! -d "$own/lib/rustlib/$TARGET/lib" ] || [ "$("$own/bin/rustc" -V)" != "$(rustc -V)" ]; then
    rm -rf "$own"
    plugins/wasm-toolchain.sh "$own" >&2 || return
  fi
  export PATH=$own/bin:$PATH
}

# Paths that end up in panic messages are the same everywhere.
remaps() {
  local registry
  for registry in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/; do
    printf -- '--remap-path-prefix=%s=/registry\x1f' "${registry%/}"
  done
  printf -- '--remap-path-prefix=%s=/rustc/std\x1f' "$(rustc --print sysroot)/lib/rustlib/src/rust/library"
  printf -- '--remap-path-prefix=%s=/sluice' "$ROOT"
}

# The whole workspace's features, so that wasmtime isn't built once more for this alone. The parsers are built meanwhile.
cargo build -q --release --locked --workspace --example stamp &
STAMP=$!
stamp() { "${CARGO_TARGET_DIR:-target}/release/examples/stamp" "$@"; }

plugins=()
for manifest in plugins/*/Cargo.toml; do
  name=$(basename "$(dirname "$manifest")")
  case $name in sdk | kit | registry) ;; *) plugins+=("$name") ;; esac
done

if ! find_toolchain; then
  wait "$STAMP"
  [ "$MODE" = check ] || { echo "no $TARGET: run 'rustup target add $TARGET'" >&2; exit 1; }
  echo "no $TARGET here: only the source digests are checked, the comparison of bytes is skipped" >&2
  for name in "${plugins[@]}" grammar-trial; do stamp check "$name"; done
  exit
fi

# So that the folder exists whose name remaps() needs.
cargo fetch -q --locked --target "$TARGET"
packages=()
for name in "${plugins[@]}"; do packages+=(-p "$name-parser"); done
BUILT=${CARGO_TARGET_DIR:-target}
CARGO_ENCODED_RUSTFLAGS=$(remaps) cargo build --locked --profile plugin --target "$TARGET" "${packages[@]}"
# The trial is a module and no component, and is made small, since every server compiles it. Its flags differ, so it has a folder of its own.
CARGO_PROFILE_PLUGIN_OPT_LEVEL=s CARGO_ENCODED_RUSTFLAGS=$(remaps)$'\x1f-Clink-arg=--skip-wit-component' \
  cargo rustc --locked --profile plugin --target "$TARGET" --target-dir "$BUILT/grammar-trial" -p grammar-trial --lib --crate-type cdylib
wait "$STAMP"
stamp "$MODE" grammar-trial "$BUILT/grammar-trial/$TARGET/plugin/grammar_trial.wasm"
for name in "${plugins[@]}"; do
  stamp "$MODE" "$name" "$BUILT/$TARGET/plugin/${name//-/_}_parser.wasm"
done

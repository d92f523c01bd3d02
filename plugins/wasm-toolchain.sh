#!/usr/bin/env bash
# Makes a Rust toolchain folder with a wasm32 standard library, for machines on which rustup can download nothing.
# Where it can, this is simply: rustup target add wasm32-unknown-unknown
#
# usage: plugins/wasm-toolchain.sh DEST [TARGET]        then put DEST/bin first in PATH
#
# TARGET is wasm32-unknown-unknown, which parsers are built for, or wasm32-wasip1, which cargo-component tests in; DEST may hold both.
# It hard-links the installed toolchain into DEST, takes the standard library's sources of the same version from Debian's
# rust-src package (this machine's own mirror, private package lists), and builds the library offline; for wasm32-wasip1 it
# takes Debian's wasi-libc too.
# Nothing else is touched. Add files to DEST, never edit its files in place: they are the installed ones.
set -euo pipefail
DEST=${1:?usage: wasm-toolchain.sh DEST [TARGET]}
TARGET=${2:-wasm32-unknown-unknown}
SYSROOT=$(rustc --print sysroot)
VERSION=$(rustc -V | awk '{print $2}')
mkdir -p "$DEST"
DEST=$(cd "$DEST" && pwd)
[ -d "$DEST/lib/rustlib/$TARGET/lib" ] && exit 0

# The installed toolchain, by links.
link_toolchain() {
  for part in bin lib libexec; do
    [ -d "$SYSROOT/$part" ] && [ ! -d "$DEST/$part" ] || continue
    cp -al "$SYSROOT/$part" "$DEST/" 2> /dev/null || cp -a "$SYSROOT/$part" "$DEST/"
  done
}

# The target was installed meanwhile: a library built beside its own would be one too many.
if [ -d "$SYSROOT/lib/rustlib/$TARGET/lib" ]; then
  link_toolchain
  [ -d "$DEST/lib/rustlib/$TARGET" ] || cp -a "$SYSROOT/lib/rustlib/$TARGET" "$DEST/lib/rustlib/"
  exit
fi

give_up() { echo "no wasm toolchain: $1" >&2; exit 1; }
for tool in apt-get apt-cache dpkg; do
  command -v "$tool" > /dev/null || give_up "this needs $tool; run 'rustup target add $TARGET' instead"
done

case $TARGET in
  wasm32-unknown-unknown) crates=std,panic_abort ;;
  wasm32-wasip1) crates=std,panic_abort,test ;;
  *) give_up "$TARGET is neither wasm32-unknown-unknown nor wasm32-wasip1" ;;
esac

# A fixed path: it ends up in the library's panic messages, and plugins must come out the same everywhere.
WORK=/tmp/wasm-std-$VERSION
rm -rf "$WORK"
trap 'rm -rf "$WORK"' EXIT
mkdir -p "$WORK"/{lists/partial,cache/archives/partial,package,sources,seed/src}

# 1. The sources, of exactly this compiler's version.
mirror=$({ cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2> /dev/null || true; } |
  grep -oE 'https?://[^ ]+/debian/?( |$)' | head -1 | tr -d ' ')
[ -n "$mirror" ] || give_up "no Debian mirror among this machine's apt sources"
for suite in trixie-backports testing unstable; do
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main"
done > "$WORK/sources.list"
apt=(-o "Dir::Etc::SourceList=$WORK/sources.list" -o Dir::Etc::SourceParts=- -o "Dir::State::Lists=$WORK/lists"
  -o "Dir::Cache=$WORK/cache" -o APT::Sandbox::User=root -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false)
apt-get "${apt[@]}" update -qq
package=$(apt-cache "${apt[@]}" madison rust-src | awk '{print $3}' | grep "^$VERSION+" | head -1) ||
  give_up "Debian no longer has rust-src $VERSION"
(cd "$WORK/package" && apt-get "${apt[@]}" download -qq "rust-src=$package")
dpkg --fsys-tarfile "$WORK"/package/rust-src_*.deb | tar -x -C "$WORK/sources" "./usr/src/rustc-$VERSION/library"
library=$WORK/sources/usr/src/rustc-$VERSION/library
libc=$WORK/sources/usr/lib/wasm32-wasip1
flags="-Cembed-bitcode=yes --remap-path-prefix=$library=/rustc/std"
if [ "$TARGET" = wasm32-wasip1 ]; then
  (cd "$WORK/package" && apt-get "${apt[@]}" download -qq wasi-libc)
  dpkg --fsys-tarfile "$WORK"/package/wasi-libc_*.deb | tar -x -C "$WORK/sources" ./usr/lib
  flags+=" -Lnative=$libc"
fi

# 2. The library, built as the dependency of an empty crate.
echo '#![no_std]' > "$WORK/seed/src/lib.rs"
cat > "$WORK/seed/Cargo.toml" << 'END'
[package]
name = "seed"
version = "0.0.0"
edition = "2024"
[workspace]
[profile.release]
panic = "abort"
debug = 0
END
(cd "$WORK/seed"
  CARGO_HOME=$WORK/cargo RUSTC=$SYSROOT/bin/rustc RUSTC_BOOTSTRAP=1 __CARGO_TESTS_ONLY_SRC_ROOT=$library \
    RUSTFLAGS=$flags \
    "$SYSROOT/bin/cargo" build -q --release --offline --target "$TARGET" --target-dir "$WORK/target" \
    -Zbuild-std=$crates -Zbuild-std-features=compiler-builtins-mem \
    --config 'source.crates-io.replace-with="vendor"' --config "source.vendor.directory=\"$library/vendor\"")

# 3. The toolchain, and the library in it.
link_toolchain
mkdir -p "$DEST/lib/rustlib/$TARGET/lib"
cp "$WORK/target/$TARGET/release/deps/"*.rlib "$DEST/lib/rustlib/$TARGET/lib/"
rm -f "$DEST/lib/rustlib/$TARGET/lib/"libseed*
if [ "$TARGET" = wasm32-wasip1 ]; then
  mkdir "$DEST/lib/rustlib/$TARGET/lib/self-contained"
  cp "$libc"/{crt1-command.o,crt1-reactor.o,libc.a} "$DEST/lib/rustlib/$TARGET/lib/self-contained/"
fi

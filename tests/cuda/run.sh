#!/usr/bin/env bash
# What a GPU has to show, in stages, each with its own time limit; prints as it goes and goes on behind a stage that fails.
#
#   tests/cuda/run.sh build              here: what is carried to the GPU's machine, into target/cuda/carry (stripped, with NVRTC)
#   tests/cuda/run.sh [DEVICE [STAGE…]]  there: all stages, or those named, on cuda:0, cuda:N, or cpu (a rehearsal without a GPU)
#
# Text of everything is kept in $OUT (target/cuda/results otherwise).
set -uo pipefail
cd "$(dirname "$0")/../.."
CARRY=${CARRY:-target/cuda/carry}
HOST=$CARRY/host
export CARGO_MANIFEST_DIR=$PWD/host/engine

# The binary as releases have it, the engine's tests, and the compiler of kernels.
build() {
    set -e
    mkdir -p "$CARRY/lib"
    cargo build --profile dist --locked -p host
    cargo test --release --locked -p engine --lib --no-run 2> "$CARRY/tests.log"
    install -s "${CARGO_TARGET_DIR:-target}/dist/host" "$HOST"
    install -s "$(sed -n 's/.*(\(.*engine-[0-9a-f]*\)).*/\1/p' "$CARRY/tests.log" | tail -1)" "$CARRY/engine-tests"
    tests/cuda/compile.sh embed > /dev/null
    install target/cuda/venv/lib/python3*/site-packages/nvidia/cu13/lib/libnvrtc*.so.13* "$CARRY/lib/"
    du -sh "$CARRY"
    set +e
}

if [ "${1:-}" = build ]; then build; exit; fi

DEVICE=${1:-cuda:0}
shift || true
STAGES=${*:-state compile goldens steps shapes serve sanitizer}
OUT=${OUT:-target/cuda/results}
mkdir -p "$OUT"
KERNELS=$(mktemp -d)
trap 'rm -rf "$KERNELS"' EXIT
LIBS=()
[ -f "$CARRY/lib/libnvrtc.so.13" ] && LIBS=(--cuda-libs "$CARRY/lib")
LOAD=(--device "$DEVICE" "${LIBS[@]}" --kernel-cache "$KERNELS")
# The engine's tests run their kernels there instead of on the shim.
case $DEVICE in cuda*) export ENGINE_TESTS_DEVICE=$DEVICE ENGINE_TESTS_CUDA_LIBS=$CARRY/lib ;; esac
SMALL=(-p 128 -n 16 --parallel 1 -r 1 --read-buffer 64)
FAILED=()

# stage NAME SECONDS COMMAND…
stage() {
    local name=$1 seconds=$2 begin=$SECONDS
    shift 2
    echo "== $name (at most $seconds s)"
    timeout --kill-after=5 "$seconds" "$@" 2>&1 | tee "$OUT/$name.txt"
    local status=${PIPESTATUS[0]}
    echo "-- $name: status $status, $((SECONDS - begin)) s"
    [ "$status" = 0 ] || FAILED+=("$name")
}

state() {
    stage driver 15 sh -c 'command -v nvidia-smi >/dev/null && nvidia-smi || echo "no nvidia-smi"'
    stage devices 15 "$HOST" devices "${LIBS[@]}"
}

# The first start compiles, the second finds everything in the cache.
compile() {
    stage first-start 60 "$HOST" bench model "${LOAD[@]}" "${SMALL[@]}"
    stage second-start 30 "$HOST" bench model "${LOAD[@]}" "${SMALL[@]}"
}

goldens() {
    stage goldens 60 "$CARRY/engine-tests" --nocapture cuda::tests::goldens
    stage sampling 30 "$CARRY/engine-tests" --nocapture cuda::tests::sampling
}

steps() {
    stage simulation 40 "$CARRY/engine-tests" --nocapture cuda::tests::simulation
}

# The issue's figures: batch 1, 64 and 256, and prompts. On a GPU the bytes of operations aren't counted yet: the share of the copy bandwidth
# (`reads`) is that of the weights' bytes times steps per second.
shapes() {
    local model
    for model in qwen3-0.6b qwen3-8b; do
        case $DEVICE in
        cuda*) set -- -p 512,8192 -n 128 --parallel 1,64,256 -r 2 ;;
        *) [ "$model" = qwen3-8b ] && continue; set -- "${SMALL[@]}" ;;
        esac
        stage "bench-$model" 120 "$HOST" bench model --model "tests/cuda/shapes/$model" --load-format dummy \
            "${LOAD[@]}" --context 10240 "$@" --csv "$OUT/$model.csv"
    done
}

serve() {
    "$HOST" serve --listen 127.0.0.1:0 "${LOAD[@]}" > "$OUT/serve.log" 2>&1 &
    local server=$! address= wait
    for wait in $(seq 300); do
        address=$(sed -n 's/^address  *//p' "$OUT/serve.log")
        [ -n "$address" ] && break
        kill -0 $server 2>/dev/null || break
        sleep 0.1
    done
    if [ -z "$address" ]; then cat "$OUT/serve.log"; FAILED+=(serve); return; fi
    stage answer 20 curl -sf "$address/v1/responses" -H 'content-type: application/json' -d '{"model": "qwen3-tiny", "input": "Who are you?"}'
    stage load 40 "$HOST" bench serve --url "$address" --max-concurrency 64 --num-prompts 256
    kill $server
    wait $server
}

sanitizer() {
    case $DEVICE in cuda*) ;; *) echo "-- sanitizer: nothing to look at on the CPU"; return ;; esac
    command -v compute-sanitizer >/dev/null || { echo "-- sanitizer: compute-sanitizer isn't installed"; return; }
    stage memcheck 60 compute-sanitizer --tool memcheck --error-exitcode 1 "$CARRY/engine-tests" cuda::tests::sampling
    stage racecheck 60 compute-sanitizer --tool racecheck --error-exitcode 1 "$CARRY/engine-tests" cuda::tests::sampling
}

for one in $STAGES; do "$one"; done
[ ${#FAILED[@]} = 0 ] && echo "== every stage passed" && exit
echo "== failed: ${FAILED[*]}"
exit 1

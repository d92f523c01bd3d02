#!/usr/bin/env bash
# Tests and benchmarks of a GPU, in stages with a time limit each. Output is printed at once, and the stages after a failed one run, too.
#
#   tests/cuda/run.sh build              on this machine: builds the files to carry to the GPU's machine into target/cuda/carry: two stripped
#                                        binaries (with NVRTC if CARRY_NVRTC is set: it is large, and otherwise searched on that machine)
#   tests/cuda/run.sh [DEVICE [STAGE…]]  on the GPU's machine: runs the named stages, or what fits in 8 minutes, on cuda:0, cuda:N, or cpu (a trial
#                                        without a GPU); the stages loading and torch, 5 minutes together, run only if they are named
#
# The output of every stage is kept in $OUT (default: target/cuda/results). With SIZES=small shapes are small on a GPU, too, as they are on the
# CPU: for a trial on a simulated GPU (tests/cuda/simulated.sh).
set -uo pipefail
cd "$(dirname "$0")/../.."
CARRY=${CARRY:-target/cuda/carry}
HOST=$CARRY/host
export CARGO_MANIFEST_DIR=$PWD/host/engine

# Builds the server as for releases and the engine's tests, and adds the compiler of kernels if asked.
build() {
    set -e
    mkdir -p "$CARRY/lib"
    cargo build-dist --locked -p host
    cargo test --release --locked -p engine --lib --no-run 2> "$CARRY/tests.log"
    install -s "${CARGO_TARGET_DIR:-target}/dist/host" "$HOST"
    install -s "$(sed -n 's/.*(\(.*engine-[0-9a-f]*\)).*/\1/p' "$CARRY/tests.log" | tail -1)" "$CARRY/engine-tests"
    if [ -n "${CARRY_NVRTC:-}" ]; then
        tests/cuda/compile.sh embed > /dev/null
        install "${CARGO_TARGET_DIR:-target}"/cuda/venv/lib/python3*/site-packages/nvidia/cu13/lib/libnvrtc*.so.13* "$CARRY/lib/"
    fi
    du -sh "$CARRY"
    set +e
}

if [ "${1:-}" = build ]; then build; exit; fi

DEVICE=${1:-cuda:0}
shift || true
STAGES=${*:-state kernels table goldens shapes idle compile serve steps sanitizer}
OUT=${OUT:-target/cuda/results}
mkdir -p "$OUT"
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
KERNELS=$WORK/kernels
# The compiler of kernels: the carried one, that of the machine's toolkit, or that of its Python packages. If empty, it's left to the system's loader.
NVRTC=
for file in "$CARRY/lib/libnvrtc.so.13" /usr/local/cuda*/targets/*/lib/libnvrtc.so.13 /usr/local/cuda*/lib64/libnvrtc.so.13 \
    "$(python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))' 2>/dev/null)"/nvidia/*/lib/libnvrtc.so.13; do
    if [ -f "$file" ]; then NVRTC=$file; break; fi
done
LIBS=()
[ -n "$NVRTC" ] && LIBS=(--cuda-libs "$(dirname "$NVRTC")")
LOAD=(--device "$DEVICE" "${LIBS[@]}" --kernel-cache "$KERNELS")
# The engine's tests run their kernels on the GPU instead of the shim.
case $DEVICE in
cuda*)
    export ENGINE_TESTS_SIZES=${SIZES:=full}
    export ENGINE_TESTS_DEVICE=$DEVICE ENGINE_TESTS_KERNEL_CACHE=$KERNELS
    [ -n "$NVRTC" ] && export ENGINE_TESTS_CUDA_LIBS=$(dirname "$NVRTC") ;;
*) SIZES=small ;;
esac
SMALL=(-p 128 -n 16 --parallel 1 -r 1 --read-buffer 64)
FAILED=()

# stage NAME SECONDS COMMAND…: runs a command with a time limit, and notes its failure. The limits are for a GPU: what simulates one has five
# times as long.
stage() {
    local name=$1 seconds=$(limit "$2") begin=$SECONDS
    shift 2
    echo "== $name (at most $seconds s)"
    timeout --kill-after=5 "$seconds" "$@" 2>&1 | tee "$OUT/$name.txt"
    note "$name" "${PIPESTATUS[0]}" "$begin"
}

# quiet_stage NAME SECONDS COMMAND…: the same, without the output.
quiet_stage() {
    local name=$1 seconds=$(limit "$2") begin=$SECONDS
    shift 2
    echo "== $name (at most $seconds s)"
    timeout --kill-after=5 "$seconds" "$@" > "$OUT/$name.txt" 2>&1
    note "$name" $? "$begin"
}

limit() {
    if [ "$SIZES" = small ]; then echo $(($1 * 5)); else echo "$1"; fi
}

# note NAME STATUS BEGIN: prints how a command ended, and notes its failure.
note() {
    echo "-- $1: status $2, $((SECONDS - $3)) s"
    [ "$2" = 0 ] || FAILED+=("$1")
}

state() {
    stage driver 15 sh -c 'command -v nvidia-smi >/dev/null && nvidia-smi || echo "no nvidia-smi"'
    stage devices 15 "$HOST" devices "${LIBS[@]}"
}

# Every kernel against its reference, on inputs that are new in each run. Prints the greatest error of each kernel, also as a share of its
# tolerance.
kernels() {
    export KERNEL_TESTS_SEED=${KERNEL_TESTS_SEED:-$RANDOM}
    echo "-- KERNEL_TESTS_SEED=$KERNEL_TESTS_SEED"
    quiet_stage kernels 90 "$CARRY/engine-tests" --nocapture cuda::tests::kernels
    grep -E '^test result|panicked' -A1 "$OUT/kernels.txt"
    sed -n 's/.*\(error [a-z_]* [0-9.]*e[-0-9]* [0-9.]* .*\)/\1/p' "$OUT/kernels.txt" | awk '
        { count[$2]++; if ($3 + 0 > error[$2] + 0) error[$2] = $3; if ($4 + 0 > share[$2] + 0) share[$2] = $4 }
        END { for (kernel in count) printf "%-20s %4d checks, greatest error %s, %s of what is allowed\n", kernel, count[kernel], error[kernel] + 0, share[kernel] + 0 }' |
        sort | tee "$OUT/kernel-errors.txt"
}

# Bandwidth of kernels, beside a copy and a matmul of the same run. With small sizes everything is only launched.
table() {
    stage table 90 "$CARRY/engine-tests" --nocapture cuda::tests::speed::table
}

# The first start compiles the kernels, the second finds them in the cache.
compile() {
    stage first-start 60 "$HOST" bench model "${LOAD[@]}" "${SMALL[@]}"
    stage second-start 30 "$HOST" bench model "${LOAD[@]}" "${SMALL[@]}"
}

goldens() {
    stage goldens 60 "$CARRY/engine-tests" --nocapture cuda::tests::goldens
    stage families 60 "$CARRY/engine-tests" --nocapture cuda::tests::families cuda::tests::beside_cpu cuda::tests::drawn
    stage sampling 30 "$CARRY/engine-tests" --nocapture cuda::tests::sampling
    stage products 60 "$CARRY/engine-tests" --nocapture cuda::tests::products cuda::real
}

steps() {
    stage simulation 60 "$CARRY/engine-tests" --nocapture cuda::tests::simulation
    stage deterministic 30 "$CARRY/engine-tests" --nocapture cuda::tests::deterministic
}

# Figures of models. Qwen3-8B's answers of 1,280 tokens have as long a context on average as 1,024 behind a prompt of 128, which others publish. On
# a GPU the bytes of operations aren't counted yet: the share of the copy bandwidth (`memory`) counts the weights' bytes times steps per second.
shapes() {
    if [ "$SIZES" = small ]; then
        bench_shape qwen3-tiny 1024 "${SMALL[@]}"
        return
    fi
    bench_shape qwen3-8b 10240 -p 512,8192 -n 1280 --parallel 1,64,256 -r 1
    bench_shape qwen3-0.6b 10240 -p 512,8192 -n 256 --parallel 1,64,256 -r 2
    bench_shape gpt-oss-20b 10240 -p 512,8192 -n 256 --parallel 1,64 -r 2
    bench_shape moonlight 8192 -p 512,8000 -n 128 --parallel 1,64 -r 2
    bench_shape qwen3-8b-fp8 10240 -p 512,8192 -n 256 --parallel 1,64 -r 1
}

# bench_shape NAME CONTEXT ARGUMENT…: measures random weights of a shape.
bench_shape() {
    local name=$1 context=$2 model=tests/cuda/shapes/$1
    [ -d "$model" ] || model=host/models/$name
    shift 2
    stage "bench-$name" 120 "$HOST" bench model --model "$model" --load-format dummy "${LOAD[@]}" --context "$context" "$@" --csv "$OUT/$name.csv"
}

# start NAME ARGUMENT…: starts a server and sets `address` to its URL, or to nothing if it failed.
start() {
    local log=$OUT/$1.log wait
    shift
    "$HOST" serve --listen 127.0.0.1:0 --store memory "${LOAD[@]}" "$@" > "$log" 2>&1 &
    server=$! address=
    for wait in $(seq 900); do
        address=$(sed -n 's/^address  *//p' "$log")
        [ -n "$address" ] && return
        kill -0 $server 2>/dev/null || break
        sleep 0.1
    done
    cat "$log"
}

# stop NAME: ends the server, which must succeed within 20 seconds.
stop() {
    local begin=$SECONDS
    kill $server
    timeout 20 tail --pid=$server -f /dev/null || kill -KILL $server
    wait $server
    note "$1-end" $? "$begin"
}

# small_model FOLDER: a folder with a small model's tokenizer and, on a GPU, Qwen3-8B's shape with the tokenizer's vocabulary.
small_model() {
    local file
    mkdir -p "$1"
    for file in tokenizer.json tokenizer_config.json chat_template.jinja generation_config.json config.json; do
        cp "host/models/qwen3-tiny/$file" "$1/"
    done
    [ "$SIZES" = small ] || sed 's/"vocab_size": [0-9]*/"vocab_size": 768/' tests/cuda/shapes/qwen3-8b/config.json > "$1/config.json"
}

# ready NAME ARGUMENT…: starts a server, and prints the seconds until it answers.
ready() {
    local name=$1 began=${EPOCHREALTIME/./} took
    start "$@"
    if [ -z "$address" ]; then FAILED+=("$name"); return; fi
    took=$(((${EPOCHREALTIME/./} - began) / 1000))
    echo "-- $name: $took ms, $((CHECKPOINT_BYTES / 1000 / took)) MB/s of the checkpoint" | tee -a "$OUT/loading.txt"
    stop "$name"
}

# forget FILE: removes it from memory, so that the next reader waits for the disk.
forget() {
    python3 -c 'import os, sys; os.posix_fadvise(os.open(sys.argv[1], os.O_RDONLY), 0, 0, os.POSIX_FADV_DONTNEED)' "$1"
}

# Start of a checkpoint that is read from the disk, without and with cached kernels, and from memory; beside them, dd's figure of the disk.
loading() {
    local model=$WORK/checkpoint
    small_model "$model"
    stage checkpoint 90 python3 tests/cuda/checkpoint.py "$model"
    local file=$model/model.safetensors
    [ -f "$file" ] || return
    CHECKPOINT_BYTES=$(stat -c %s "$file")
    forget "$file"
    stage disk 60 dd if="$file" of=/dev/null bs=16M
    rm -rf "$KERNELS"
    forget "$file"
    ready first-start-from-disk --model "$model" --context 768
    forget "$file"
    ready start-from-disk --model "$model" --context 768
    ready start-from-memory --model "$model" --context 768
    rm -rf "$model"
}

# Idle time of the GPU while 64 clients are answered, a quarter of them in JSON by a nested schema: nvidia-smi's share of time without a running
# kernel, and the tokens per second beside those of the same model without a server. Answers have the requested length; the model has
# Qwen3-8B's shape and the vocabulary of a small model.
idle() {
    local model=$OUT/idle-model sampler= free index=${DEVICE#cuda}
    local clients=64 prompts=384 words=128 length=256 context=4096
    [ "$SIZES" = small ] && clients=4 prompts=6 words=8 length=12
    small_model "$model"
    stage idle-model 60 "$HOST" bench model --model "$model" --load-format dummy "${LOAD[@]}" --context "$context" -p 128 -n "$((length / 2))" \
        --parallel "$clients" -r 2 --read-buffer 64 --csv "$OUT/idle-model.csv"
    start idle-serve --model "$model" --load-format dummy --context "$context"
    if [ -z "$address" ]; then FAILED+=(idle); return; fi
    stage idle-warm 40 "$HOST" bench serve --url "$address" --max-concurrency "$clients" --num-prompts "$clients" --input-len "$words" --output-len "$((length / 2))" \
        --extra-body '{"ignore_eos": true}'
    if command -v nvidia-smi >/dev/null; then
        index=${index#:}
        nvidia-smi -i "${index:-0}" --query-gpu=utilization.gpu --format=csv,noheader,nounits -lms 100 > "$OUT/idle-samples.txt" &
        sampler=$!
    fi
    timeout --kill-after=5 60 "$HOST" bench serve --url "$address" --max-concurrency "$((clients * 3 / 4))" --num-prompts "$prompts" --input-len "$words" --output-len "$length" \
        --extra-body '{"ignore_eos": true}' \
        --csv "$OUT/idle-serve.csv" > "$OUT/idle-free.txt" 2>&1 &
    free=$!
    # The schema's list is longer than an answer may be.
    stage idle-load 60 "$HOST" bench serve --url "$address" --max-concurrency "$((clients / 4))" --num-prompts "$((prompts / 3))" --input-len "$words" --output-len "$length" --seed 1 \
        --csv "$OUT/idle-constrained.csv" --extra-body '{"chat_template_kwargs": {"enable_thinking": false}, "structured_outputs": {"json": {"type": "array", "minItems": 200,
            "items": {"type": "object", "required": ["name", "at", "tags"], "additionalProperties": false, "properties": {"name": {"type": "string", "maxLength": 12},
            "at": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}, "tags": {"type": "array", "items": {"enum": ["red", "green", "blue"]}}}}}}}'
    wait $free || FAILED+=(idle-free)
    cat "$OUT/idle-free.txt"
    if [ -n "$sampler" ]; then
        kill $sampler
        # The beginning and the end are left out, since fewer than 64 clients are answered then.
        awk '{ all[NR] = $1 } END { for (i = int(NR / 5); i < NR * 4 / 5; i++) { sum += all[i]; n++ }
            if (n) printf "-- idle: %.1f %% of %d samples\n", 100 - sum / n, n }' "$OUT/idle-samples.txt" | tee "$OUT/idle.txt"
    else
        echo "-- idle: there is no nvidia-smi to ask"
    fi
    stop idle
}

torch() {
    case $DEVICE in cuda*) ;; *) echo "-- torch: nothing to compare on the CPU"; return ;; esac
    python3 -c 'import torch' 2>/dev/null || { echo "-- torch: it isn't installed here"; return; }
    stage torch 60 python3 tests/cuda/beside.py
    stage transformers 120 python3 tests/cuda/decode_peer.py tests/cuda/shapes/qwen3-8b 512 256 1 64
}

serve() {
    start serve
    if [ -z "$address" ]; then FAILED+=(serve); return; fi
    stage answer 20 curl -sf "$address/v1/responses" -H 'content-type: application/json' -d '{"model": "qwen3-tiny", "input": "Who are you?"}'
    case $SIZES in small) set -- 4 8 8 16 ;; *) set -- 64 256 128 128 ;; esac
    stage load 40 "$HOST" bench serve --url "$address" --max-concurrency "$1" --num-prompts "$2" --input-len "$3" --output-len "$4"
    stop serve
}

sanitizer() {
    case $DEVICE in cuda*) ;; *) echo "-- sanitizer: nothing to look at on the CPU"; return ;; esac
    command -v compute-sanitizer >/dev/null || { echo "-- sanitizer: compute-sanitizer isn't installed"; return; }
    stage memcheck 60 compute-sanitizer --tool memcheck --error-exitcode 1 "$CARRY/engine-tests" --test-threads 1 cuda::tests::kernels
    stage racecheck 60 compute-sanitizer --tool racecheck --error-exitcode 1 "$CARRY/engine-tests" --test-threads 1 cuda::tests::kernels::attention
}

for one in $STAGES; do "$one"; done
[ ${#FAILED[@]} = 0 ] && echo "== every stage passed" && exit
echo "== failed: ${FAILED[*]}"
exit 1

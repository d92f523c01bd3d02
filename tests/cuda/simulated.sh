#!/usr/bin/env bash
# A trial of run.sh on a simulated GPU (tests/cuda-simulator), with small shapes: `simulated.sh [STAGE…]`; if none is named, all but torch. It
# shows what is wrong with the script and with the code that calls CUDA, before a session on a GPU begins. Fails if a stage fails, or if the
# simulated driver was called in a wrong way. nvidia-smi and compute-sanitizer are replaced by scripts that do little.
set -euo pipefail
cd "$(dirname "$0")/../.."
BUILT=${CARGO_TARGET_DIR:-$PWD/target}
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT

cargo build --quiet --release --locked
if [ -z "${CUDA_SIMULATOR:-}" ]; then
    CUDA_SIMULATOR=$WORK/cuda
    cargo run --quiet --release --locked --manifest-path tests/cuda-simulator/Cargo.toml --target-dir "$BUILT" --example install -- "$CUDA_SIMULATOR"
fi
mkdir -p "$WORK/carry" "$WORK/bin"
ln -s "$BUILT/release/host" "$WORK/carry/host"
TESTS=$(cargo test --release --locked --workspace --lib --no-run 2>&1 | sed -n 's/.*(\(.*deps\/engine-[0-9a-f]*\)).*/\1/p')
ln -s "$(realpath "$TESTS")" "$WORK/carry/engine-tests"
ln -s "$CUDA_SIMULATOR/libraries" "$WORK/carry/lib"

cat > "$WORK/bin/nvidia-smi" <<'END'
#!/bin/sh
case "$*" in
"") echo "Simulated GPU" ;;
"-i 0 --query-gpu=utilization.gpu --format=csv,noheader,nounits -lms 100") while :; do echo 57; sleep 0.1; done ;;
*) exit 1 ;;
esac
END
cat > "$WORK/bin/compute-sanitizer" <<'END'
#!/bin/sh
[ "$1 $3 $4" = "--tool --error-exitcode 1" ] && shift 4 && exec "$@"
END
chmod +x "$WORK"/bin/*

[ $# = 0 ] && set -- state kernels table goldens shapes idle compile loading serve steps sanitizer
export OUT=${OUT:-$BUILT/cuda/simulated}
rm -rf "$OUT"
# The server runs from another folder than the tests, and shares what their kernels are compiled to.
env PATH="$WORK/bin:$PATH" LD_LIBRARY_PATH="$CUDA_SIMULATOR/driver" CARRY="$WORK/carry" SIZES=small CUDA_SHIM_CACHE="$BUILT/release/cuda-shim" \
    tests/cuda/run.sh cuda:0 "$@"
if grep -r "simulated CUDA:" "$OUT"; then exit 1; fi

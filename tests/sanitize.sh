#!/usr/bin/env bash
# Tests the CPU's operations, and the engine on the CPU, under AddressSanitizer: they have most of the `unsafe` code. It fails on a read or write
# outside of an allocation, on a use after free, and on a leak. It builds into a folder of its own, which takes about five minutes.
#
# Not tested: the fibers that run CUDA kernels, which switch stacks by themselves, and the SDK's allocator, whose tests build the server.
set -euo pipefail
cd "$(dirname "$0")/.."

# A stable compiler has the sanitizer, but only this variable allows its flag.
export RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address
TARGET=x86_64-unknown-linux-gnu
test_with_sanitizer() {
    cargo test --release --locked --target "$TARGET" --target-dir "${CARGO_TARGET_DIR:-target}/sanitize" "$@"
}

echo "== the sanitizer finds what is wrong"
PROBE=$(mktemp -d)
trap 'rm -rf "$PROBE"' EXIT
cat > "$PROBE/probe.rs" << 'END'
fn main() {
    let bytes = std::hint::black_box(vec![0u8; 8]);
    std::process::exit(i32::from(unsafe { *bytes.as_ptr().add(8) }));
}
END
rustc --edition 2024 -Zsanitizer=address --target "$TARGET" "$PROBE/probe.rs" -o "$PROBE/probe"
if "$PROBE/probe" 2> "$PROBE/log" || ! grep -q heap-buffer-overflow "$PROBE/log"; then
    echo "a read behind a buffer's end was not found: the sanitizer doesn't work here" >&2
    exit 1
fi

echo "== operations of the CPU"
test_with_sanitizer -p kernels
echo "== the engine on the CPU"
test_with_sanitizer -p engine --lib --test goldens --test quantization --test random_models -- --skip cuda::

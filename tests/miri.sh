#!/usr/bin/env bash
# Tests the CPU's operations, their threads, the SDK's allocator and the engine's threads in Miri, an interpreter that stops at undefined
# behaviour: data races, references that may not exist at the same time, memory that is read before it is written. The sanitizer can't see these.
# It takes about seven minutes.
#
# It runs `cargo +nightly miri`; the variable CARGO_MIRI names another command. Not tested: vector instructions, of which Miri has too few (the
# portable code runs), large pages, mapped files, and whatever calls foreign code: CUDA, fibers, WebAssembly.
set -euo pipefail
cd "$(dirname "$0")/.."

read -r -a MIRI <<< "${CARGO_MIRI:-cargo +nightly miri}"
# Tests read the clock, the environment and the folder that they run in. Some compare functions of floats bit by bit, which Miri makes inexact.
export MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-strict-provenance -Zmiri-deterministic-floats"
export PROPTEST_CASES=16
if ! "${MIRI[@]}" --version > /dev/null 2>&1; then
    echo "there is no '${MIRI[*]}' here: add the component miri to a nightly toolchain, or name another command in CARGO_MIRI" >&2
    exit 1
fi
FOLDER=$(realpath -m "${CARGO_TARGET_DIR:-target}")
test_in_miri() {
    "${MIRI[@]}" test --target-dir "$FOLDER" "$@"
}

echo "== Miri finds what is wrong"
# Miri reads sources when it runs, so the package stays.
PROBE=$FOLDER/miri-probe
mkdir -p "$PROBE"
cp Cargo.lock "$PROBE"
cat > "$PROBE/Cargo.toml" << END
[package]
name = "probe"
version = "0.0.0"
edition = "2024"
[workspace]
[[bin]]
name = "probe"
path = "probe.rs"
# The SDK's own package would build the WebAssembly runtime.
[[test]]
name = "blocks"
path = "$PWD/plugins/sdk/tests/sdk/allocator.rs"
[dependencies]
proptest = { version = "1", default-features = false, features = ["bit-set", "std"] }
END
cat > "$PROBE/probe.rs" << 'END'
fn main() {
    let mut byte = 1u8;
    let place = &raw mut byte;
    let (one, two) = unsafe { (&mut *place, &mut *place) };
    *one = 2;
    *two = 3;
}
END
PROBE_PACKAGE=(--manifest-path "$PROBE/Cargo.toml" --target-dir "$FOLDER")
if "${MIRI[@]}" run "${PROBE_PACKAGE[@]}" > "$PROBE/log" 2>&1 || ! grep -q "Undefined Behavior" "$PROBE/log"; then
    echo "two mutable references to one byte were not found: Miri doesn't work here" >&2
    cat "$PROBE/log" >&2
    exit 1
fi

echo "== the SDK's allocator"
"${MIRI[@]}" test "${PROBE_PACKAGE[@]}" --test blocks
echo "== operations of the CPU"
test_in_miri --locked -p kernels --test small
test_in_miri --locked -p kernels --lib -- packed:: rope:: route::
echo "== the pool, in eight orders of its threads"
MIRIFLAGS="$MIRIFLAGS -Zmiri-many-seeds=0..8" test_in_miri --locked -p kernels --lib -- pool::
echo "== threads of the engine"
# One test takes minutes: it generates for many clients.
test_in_miri --locked -p engine --lib -- blocks::tests device_lock:: tests::accept:: tests::late_masks:: tests::local:: \
    --skip cuda:: --skip many_clients

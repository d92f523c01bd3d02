#!/usr/bin/env bash
# Runs vLLM's own tests of its parsers, first on vLLM's, then on ours behind the same names, and compares what passes with differences.json
# and docs/conformance.md: `run.sh [--page]`.
# vLLM's sources and tests come from its source package; 50 MB, and the Python package is built. No test is copied here.
set -euo pipefail
cd "$(dirname "$0")"
work=$(realpath -m "${VLLM_TESTS_WORK:-../../../../target/vllm-tests}")
VLLM=(vllm==0.33.0 --hash=sha256:f4c33c2503d52bb411146afa9618a4f48bed68912f617e6803ac8d76e4c74112)
TOOLS=(pytest==9.2.0 pytest-asyncio==1.5.0 setuptools)

export VLLM_TESTS_WORK=$work VLLM_SOURCES=$work/${VLLM[0]}
mkdir -p "$work"
if ! diff <(cat ../requirements.txt && echo "${VLLM[@]}" "${TOOLS[@]}") "$work/.installed" >/dev/null 2>&1; then
    rm -rf "$work/venv" "$VLLM_SOURCES"
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install --quiet --disable-pip-version-check -r ../requirements.txt "${TOOLS[@]}"
    # pip asks the package's setup.py for its dependencies, which imports torch: what stands for that copies the sources, and ends it.
    mkdir -p "$work/stub"
    cat >"$work/stub/torch.py" <<'END'
import os, shutil
if os.path.isfile("setup.py") and os.path.isdir("tests"):
    shutil.copytree(".", os.environ["VLLM_SOURCES"])
raise SystemExit("the sources are copied")
END
    echo "${VLLM[@]}" >"$work/vllm.txt"
    PYTHONPATH=$work/stub "$work/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --no-binary :all: --no-build-isolation --require-hashes \
        -r "$work/vllm.txt" -d "$work/stub" >"$work/download.log" 2>&1 || true
    [ -d "$VLLM_SOURCES/tests" ] || { cat "$work/download.log" >&2; exit 1; }
    (cat ../requirements.txt && echo "${VLLM[@]}" "${TOOLS[@]}") >"$work/.installed"
fi
[ -f ../../vocabulary/o200k_base.tiktoken ] || ../../vocabulary.sh
rm -rf "$work/wheel"
../../../../host/bindings/python/wheel.sh "$work/wheel"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --force-reinstall "$work"/wheel/*.whl

# Their package has a configuration of its own, and fixtures that need the server.
export PYTHONPATH=$PWD:$VLLM_SOURCES
mapfile -t files < <("$work/venv/bin/python" compare.py --files)
for side in "" ours; do
    (cd "$VLLM_SOURCES" && SLUICE=$side "$work/venv/bin/python" -m pytest -p stand_in --noconftest -p no:cacheprovider -o addopts= --quiet --tb=short \
        --junit-xml "$work/${side:-theirs}.xml" "${files[@]}" >"$work/${side:-theirs}.log" 2>&1) || [ $? = 1 ] || { tail -20 "$work/${side:-theirs}.log" >&2; exit 1; }
done
"$work/venv/bin/python" compare.py "$work/theirs.xml" "$work/ours.xml" "$@"

#!/usr/bin/env bash
# Has the parsers of other servers read the turns that published chat templates write, and checks docs/conformance.md: `run.sh [--page] [-v]`; see
# README.md. tests/templates/run.sh collects the templates, and runs first.
set -euo pipefail
export SLUICE_HOST=$(realpath -m "${SLUICE_HOST:-$(dirname "$0")/../../../target/release/host}")
corpus=$(realpath -m "${TEMPLATES_WORK:-$(dirname "$0")/../../../target/templates}")
work=$(realpath -m "${PARSERS_WORK:-$(dirname "$0")/../../../target/parsers}")
cd "$(dirname "$0")"

PEERS=(vllm==0.33.0 sglang==0.5.23 trl==1.16.0)
# Versions before, which our plugins serve, too.
OLDER=(vllm==0.32.0 sglang==0.5.22)
[ -d "$corpus/templates" ] || { echo "no templates in $corpus: run tests/templates/run.sh" >&2; exit 1; }
mkdir -p "$work"
if ! diff <(cat requirements.txt && echo "${PEERS[@]}" "${OLDER[@]}") "$work/.installed" >/dev/null 2>&1; then
    rm -rf "$work/venv"
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install --quiet --disable-pip-version-check -r requirements.txt
    for peer in "${PEERS[@]}" "${OLDER[@]}"; do
        name=${peer%%=*} folder=$peer
        [[ " ${OLDER[*]} " == *" $peer "* ]] || folder=$name
        rm -rf "${work:?}/$folder" "$work/$name"-*.whl
        "$work/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --only-binary :all: -d "$work" "$peer"
        # Their sources, and none of their kernels.
        python3 -c 'import sys, zipfile; files = zipfile.ZipFile(sys.argv[1]); files.extractall(sys.argv[2], [name for name in files.namelist() if name.endswith((".py", ".jinja", "/METADATA"))])' "$work/$name"-*.whl "$work/$folder"
        rm "$work/$name"-*.whl
    done
    (cat requirements.txt && echo "${PEERS[@]}" "${OLDER[@]}") >"$work/.installed"
fi
[ -f ../vocabulary/o200k_base.tiktoken ] || ../vocabulary.sh
cargo build --quiet --release --locked --manifest-path ../Cargo.toml --package readers

python() { "$work/venv/bin/python" "$@"; }
verbose=() page=(--check)
for word in "$@"; do
    case $word in
    -v) verbose=(-v) ;;
    --page) page=(--page) ;;
    esac
done
mkdir -p "$work/results"
python write.py "$corpus/templates" "$work/turns"
for peer in vllm sglang trl; do
    reader=${peer/trl/transformers}
    python conformance.py "$reader" "$work/$peer" "$work/turns" "$work/results/$reader.json" "${verbose[@]}"
done
for project in smg symphony dynamo dynamo-v2; do
    python conformance.py "$project" ../target/release/read "$work/turns" "$work/results/$project.json" "${verbose[@]}"
done
python page.py "$work/results" "${page[@]}"

# Our own parsers, where vLLM and SGLang choose and call them.
rm -rf "$work/wheel"
../../../host/bindings/python/wheel.sh "$work/wheel"
../../../host/bindings/python/vendor.sh "$work/wheel"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --force-reinstall "$work"/wheel/*.whl
guests=${CARGO_TARGET_DIR:-../../../target}/release/guests
if [ -x "$guests" ]; then
    mkdir -p "$work/guests"
    "$guests" "$work/guests"
    export SLUICE_GUESTS=$work/guests
fi
for server in vllm sglang; do
    for folder in "$work/$server" "$work/$server"==*; do
        python "test_plugin_$server.py" "$folder"
        python conformance.py "sluice-$server" "$folder" "$work/turns" "${verbose[@]}"
    done
done
python facade.py "$work/sglang"

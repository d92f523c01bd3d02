#!/usr/bin/env bash
# Compares our parsers with vLLM's and SGLang's over the turns that published chat templates write: `run.sh`; see README.md. tests/templates/run.sh
# collects the templates, and runs first.
set -euo pipefail
export SLUICE_HOST=$(realpath -m "${SLUICE_HOST:-$(dirname "$0")/../../../target/release/host}")
templates=$(realpath -m "${TEMPLATES_WORK:-$(dirname "$0")/../../../target/templates}")/templates
work=$(realpath -m "${PARSERS_WORK:-$(dirname "$0")/../../../target/parsers}")
cd "$(dirname "$0")"

PEERS=(vllm==0.33.0 sglang==0.5.23)
[ -d "$templates" ] || { echo "no templates in $templates: run tests/templates/run.sh" >&2; exit 1; }
mkdir -p "$work"
if ! diff <(cat requirements.txt && echo "${PEERS[@]}") "$work/.installed" >/dev/null 2>&1; then
    rm -rf "$work/venv"
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install --quiet --disable-pip-version-check -r requirements.txt
    for peer in "${PEERS[@]}"; do
        name=${peer%%=*}
        rm -rf "${work:?}/$name" "$work/$name"-*.whl
        "$work/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --only-binary :all: -d "$work" "$peer"
        # Their sources, and none of their kernels.
        python3 -c 'import sys, zipfile; files = zipfile.ZipFile(sys.argv[1]); files.extractall(sys.argv[2], [name for name in files.namelist() if name.endswith(".py")])' "$work/$name"-*.whl "$work/$name"
        rm "$work/$name"-*.whl
    done
    (cat requirements.txt && echo "${PEERS[@]}") >"$work/.installed"
fi
# Our own parsers in vLLM.
rm -rf "$work/wheel"
../../../host/bindings/python/wheel.sh "$work/wheel"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --force-reinstall "$work"/wheel/*.whl
"$work/venv/bin/python" test_plugin.py "$work/vllm"
ln -sfn vllm "$work/sluice"
for peer in vllm sglang sluice; do
    "$work/venv/bin/python" conformance.py "$templates" "$peer" "$work/$peer" "$@"
done

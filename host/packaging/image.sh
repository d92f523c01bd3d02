#!/usr/bin/env bash
# Builds the image from a binary that was built here: `image.sh BINARY TAG`. Needs buildah; needs no base image.
set -euo pipefail
[ $# -eq 2 ] || { echo "usage: image.sh BINARY TAG" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
"$here/rootfs.sh" "$1" "$made/rootfs"
# The folder stands in for the stage that builds the binary.
buildah build --isolation "${BUILDAH_ISOLATION:-chroot}" --format docker --build-context "build=$made" \
  --file "$here/Dockerfile" --tag "$2" "$made"

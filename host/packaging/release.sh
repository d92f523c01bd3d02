#!/usr/bin/env bash
# Makes a release of a binary: `release.sh BINARY DIR` writes sluice-VERSION-ARCH.tar.gz (stripped binary, licences, systemd unit, manual pages,
# completions), its checksum, and the list of its libraries (CycloneDX), if cargo-cyclonedx is installed. The same binary gives the same archive.
set -euo pipefail
[ $# -eq 2 ] || { echo "usage: release.sh BINARY DIR" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
binary=$(readlink -f "$1")
mkdir -p "$2"
out=$(cd "$2" && pwd)
version=$("$binary" --version | awk '{ print $2 }')
name=sluice-$version-$(uname -m)-linux-gnu
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

install -D -m 755 "$binary" "$made/$name/bin/host"
strip "$made/$name/bin/host"
install -D -m 644 -t "$made/$name" "$source"/LICENSE-* "$source/README.md" "$source/CHANGELOG.md"
install -D -m 644 -t "$made/$name/lib/systemd/system" "$here/sluice.service"
"$binary" man "$made/$name/share/man/man1"
install -d "$made/$name"/share/{bash-completion/completions,zsh/site-functions,fish/vendor_completions.d}
"$binary" completions bash > "$made/$name/share/bash-completion/completions/host"
"$binary" completions zsh > "$made/$name/share/zsh/site-functions/_host"
"$binary" completions fish > "$made/$name/share/fish/vendor_completions.d/host.fish"

date=$(git -C "$source" log -1 --format=%cI)
tar --sort=name --mtime="$date" --owner=0 --group=0 --numeric-owner -C "$made" -cf - "$name" | gzip -n -9 > "$out/$name.tar.gz"

# The tool writes beside each Cargo.toml, so it gets a clone.
if cargo cyclonedx --version > /dev/null 2>&1; then
  git clone --quiet --local --no-hardlinks "$source" "$made/source"
  (cd "$made/source" && cargo cyclonedx --quiet --format json --manifest-path host/Cargo.toml)
  install -m 644 "$made/source/host/host.cdx.json" "$out/$name.cdx.json"
else
  echo "no list of libraries: cargo-cyclonedx is not installed" >&2
fi
(cd "$out" && sha256sum "$name".* | grep -v '\.sha256$' > "$name.sha256")
cat "$out/$name.sha256"

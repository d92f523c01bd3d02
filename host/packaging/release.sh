#!/usr/bin/env bash
# Makes a release of a binary: `release.sh BINARY DIR` writes an archive, a Debian package, a wheel and an npm package with the stripped binary as
# `sluice`, the list of its libraries (CycloneDX) if cargo-cyclonedx is installed, and all checksums. The same binary and commit give the same files.
set -euo pipefail
[ $# -eq 2 ] || { echo "usage: release.sh BINARY DIR" >&2; exit 2; }
lacking=$(for tool in dpkg-deb git gzip npm objdump python3 strip tar; do command -v "$tool" > /dev/null || echo "$tool"; done)
[ -z "$lacking" ] || { echo "release.sh lacks" $lacking "(Debian: apt-get install binutils dpkg git npm python3)" >&2; exit 1; }
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
binary=$(readlink -f "$1")
mkdir -p "$2"
out=$(cd "$2" && pwd)
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
umask 022
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$source" log -1 --format=%ct)}
export SOURCE_DATE_EPOCH

version=$("$binary" --version | awk '{ print $2 }')
machine=$(uname -m)
case $machine in
  x86_64) debian=amd64 node=x64 ;;
  aarch64) debian=arm64 node=arm64 ;;
  *) echo "release.sh knows no packages' name for $machine" >&2; exit 1 ;;
esac
glibc=$(objdump -T "$binary" | grep -o 'GLIBC_[0-9.]*' | sort -V | tail -1 | cut -d_ -f2)
# What packages depend on: another library needs another dependency here.
others=$(objdump -p "$binary" | awk '$1 == "NEEDED" && $2 !~ /^(libc|libm|libgcc_s|ld-linux-.*)\.so\.[0-9]+$/ { print $2 }')
[ -z "$others" ] || { echo "no dependency of the packages has" $others >&2; exit 1; }

# The tree that all packages are made of. The binary says the name by which it is called, in its manual, too.
stage=$made/stage doc=$made/stage/share/doc/sluice
install -D -m 755 "$binary" "$stage/bin/sluice"
strip "$stage/bin/sluice"
install -D -m 644 -t "$stage/lib/systemd/system" "$here/sluice.service"
install -D -m 644 -t "$doc" "$source"/LICENSE-* "$source/README.md" "$source/CHANGELOG.md"
"$stage/bin/sluice" man "$stage/share/man/man1"
install -d "$stage"/share/{bash-completion/completions,zsh/site-functions,fish/vendor_completions.d}
"$stage/bin/sluice" completions bash > "$stage/share/bash-completion/completions/sluice"
"$stage/bin/sluice" completions zsh > "$stage/share/zsh/site-functions/_sluice"
"$stage/bin/sluice" completions fish > "$stage/share/fish/vendor_completions.d/sluice.fish"

# Copies a file of this folder with its names in capitals filled in.
filled() {
  sed -e "s/@VERSION@/$version/" -e "s/@DEBIAN@/$debian/" -e "s/@NODE@/$node/" -e "s/@GLIBC@/$glibc/" -e "s/@KIB@/${3:-}/" "$here/$1" > "$2"
}

archive() {
  local name=sluice-$version-$machine-linux-gnu
  cp -r "$stage" "$made/$name"
  ln -s sluice "$made/$name/bin/host"
  tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -C "$made" -cf - "$name" | gzip -n > "$out/$name.tar.gz"
}

# Without a link `host`, which is a file of the package bind9-host.
deb() {
  local root=$made/deb
  install -d "$root/DEBIAN"
  cp -r "$stage" "$root/usr"
  mv "$root/usr/share/zsh/site-functions" "$root/usr/share/zsh/vendor-completions"
  {
    echo "Sluice is licensed under Apache-2.0, which is /usr/share/common-licenses/Apache-2.0, or at your option under MIT:"
    echo
    cat "$source/LICENSE-MIT"
  } > "$root/usr/share/doc/sluice/copyright"
  rm "$root"/usr/share/doc/sluice/LICENSE-*
  gzip -n9 "$root"/usr/share/man/man1/* "$root/usr/share/doc/sluice/CHANGELOG.md"
  filled deb/control "$root/DEBIAN/control" "$(du -sk --apparent-size "$root/usr" | cut -f1)"
  install -m 755 -t "$root/DEBIAN" "$here/deb/postinst" "$here/deb/prerm"
  (cd "$root" && find usr -type f | LC_ALL=C sort | xargs md5sum > DEBIAN/md5sums)
  # The number of threads changes what xz writes.
  DPKG_DEB_THREADS_MAX=1 dpkg-deb --root-owner-group -Zxz -z1 --build "$root" "$out/sluice_${version}_$debian.deb" > /dev/null
}

wheel() { python3 "$here/wheel.py" "$stage" "$here/about.md" "$version" "manylinux_${glibc/./_}_$machine" "$out"; }

npm_package() {
  local package=$made/npm
  install -D -m 755 -t "$package/bin" "$stage/bin/sluice"
  install -D -m 644 -t "$package/man" "$stage"/share/man/man1/*
  install -m 644 "$here/about.md" "$package/README.md"
  install -m 644 -t "$package" "$source"/LICENSE-*
  filled npm/package.json "$package/package.json"
  (cd "$out" && npm pack --silent --offline "$package" > /dev/null)
  mv "$out/sluice-$version.tgz" "$out/sluice-$version-npm-linux-$node.tgz"
}

# The tool writes beside each Cargo.toml, so it gets a clone.
libraries() {
  if cargo cyclonedx --version > /dev/null 2>&1; then
    git clone --quiet --local --no-hardlinks "$source" "$made/source"
    (cd "$made/source" && cargo cyclonedx --quiet --format json --manifest-path host/Cargo.toml)
    install -m 644 "$made/source/host/host.cdx.json" "$out/sluice-$version.cdx.json"
  else
    echo "no list of libraries: cargo-cyclonedx is not installed" >&2
  fi
}

archive
deb
wheel
npm_package
libraries
(cd "$out" && sha256sum sluice[-_]"$version"[-_.]* | grep -v '\.sha256$' > "sluice-$version.sha256")
cat "$out/sluice-$version.sha256"

#!/usr/bin/env bash
# Makes all packages of the binary that `SLUICE_HOST` names, else target/release/host, installs each into an empty folder, uses it there, and
# removes it again; and the systemd unit's exposure. Needs no root and no network.
set -euo pipefail
cd "$(dirname "$0")/../.."
binary=${SLUICE_HOST:-target/release/host}
made=$(mktemp -d)
server=
stop() { [ -z "$server" ] || { kill "$server" 2> /dev/null || true; wait "$server" || true; }; server=; }
trap 'stop; rm -rf "$made"' EXIT
fail() { echo "$1" >&2; exit 1; }
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)

# Becomes a command as a user runs it, whose shell looks into the folder $1 first.
become() { cd "$made/home" && exec env -i HOME="$made/home" PATH="$1:/usr/bin:/bin" "${@:2}"; }
clean() { (become "$@"); }

# Uses `sluice`, found in the folder $2 as a shell finds it: version, help, a server, a question.
try() {
  local package=$1 path=$2 url
  [ "$(clean "$path" bash -c 'command -v sluice')" = "$path/sluice" ] || fail "$package: no sluice in $path"
  clean "$path" sluice version --json | grep -q "^{\"version\":\"$version\"," || fail "$package: it isn't version $version"
  clean "$path" sluice serve -h | grep 'Usage: sluice serve' > /dev/null || fail "$package: the help doesn't say sluice"
  : > "$made/summary"
  become "$path" sluice serve --listen 127.0.0.1:0 --store memory --threads 1 > "$made/summary" 2> "$made/log" &
  server=$!
  until url=$(sed -n 's/^address *//p' "$made/summary" | grep -m1 .); do
    kill -0 "$server" 2> /dev/null || { cat "$made/log"; fail "$package: no server"; }
    sleep 0.1
  done
  clean "$path" sluice run --url "$url" -o temperature=0 "Who are you?" | grep . > "$made/answer" || fail "$package: no answer"
  stop
  echo "$package: version $version, serves and answers: $(head -c 60 "$made/answer") ($SECONDS s)"
}
gone() { [ ! -e "$2" ] && [ ! -L "$2" ] || fail "$1: $2 is there after the removal"; }

if command -v systemd-analyze > /dev/null; then
  systemd-analyze security --offline=yes --threshold=15 host/packaging/sluice.service > "$made/exposure" || { tail -1 "$made/exposure"; exit 1; }
  tail -1 "$made/exposure"
else
  echo "skipped: systemd-analyze is not installed"
fi
command -v dpkg-deb > /dev/null || { echo "skipped: packages need dpkg-deb, which is not installed (Debian: apt-get install dpkg)"; exit; }

mkdir "$made/home"
host/packaging/release.sh "$binary" "$made/release" > /dev/null
(cd "$made/release" && sha256sum --quiet -c ./*.sha256 && du -h sluice*)
echo "all packages are made ($SECONDS s)"

mkdir "$made/archive"
tar -xzf "$made"/release/*-linux-gnu.tar.gz -C "$made/archive" --strip-components 1
try archive "$made/archive/bin"
[ "$(clean "$made/archive/bin" host --version | cut -d' ' -f1)" = host ] || fail "archive: the link isn't called host"
bash -n "$made/archive/share/bash-completion/completions/sluice"
grep -q '^.TH sluice ' "$made/archive/share/man/man1/sluice.1" || fail "archive: no manual of sluice"

if dpkg --status libc6 > /dev/null 2>&1; then
  # The copied list of installed packages lets dpkg check the dependencies against this system.
  root=$made/deb
  mkdir -p "$root"/var/lib/dpkg/{info,updates,triggers}
  cp /var/lib/dpkg/status "$root/var/lib/dpkg/"
  dpkg=(env "PATH=$PATH:/usr/sbin:/sbin" dpkg "--root=$root" --force-not-root --force-script-chrootless "--log=$made/dpkg.log")
  "${dpkg[@]}" --install "$made"/release/*.deb > "$made/dpkg" 2>&1 || { cat "$made/dpkg"; exit 1; }
  try deb "$root/usr/bin"
  [ ! -e "$root/usr/bin/host" ] || fail "deb: it has another package's file"
  "${dpkg[@]}" --purge sluice > "$made/dpkg" 2>&1 || { cat "$made/dpkg"; exit 1; }
  gone deb "$root/usr/bin/sluice"
  gone deb "$root/usr/share/doc/sluice"
else
  echo "skipped: the deb is made, but not installed, since this is no Debian"
fi

python3 -m venv "$made/wheel"
pip=("$made/wheel/bin/pip" --quiet --disable-pip-version-check)
"${pip[@]}" install --no-index "$made"/release/*.whl
"${pip[@]}" check
try wheel "$made/wheel/bin"
"${pip[@]}" uninstall --yes sluice
gone wheel "$made/wheel/bin/sluice"
gone wheel "$made/wheel/share/man/man1/sluice.1"

npm=(npm --silent --offline --no-audit --no-fund --global --prefix "$made/npm" "--cache=$made/npm-cache")
"${npm[@]}" install "$made"/release/*-npm-*.tgz
try npm "$made/npm/bin"
"${npm[@]}" uninstall sluice
gone npm "$made/npm/bin/sluice"

#!/usr/bin/env bash
# Makes the image of the binary that `SLUICE_HOST` names, else target/release/host, and runs it with a read-only root as user 65532. Needs root and
# buildah.
set -euo pipefail
cd "$(dirname "$0")/../.."
binary=${SLUICE_HOST:-target/release/host}
made=$(mktemp -d)
mounts=() containers=() server=
end() {
  [ -z "$server" ] || kill "$server" 2> /dev/null || true
  [ -z "$server" ] || wait "$server" 2> /dev/null || true
  for place in "${mounts[@]}"; do umount "$place"; done
  for container in "${containers[@]}"; do buildah rm "$container" > /dev/null; done
  rm -rf "$made"
}
trap end EXIT

if ! command -v buildah > /dev/null; then
  echo "skipped: buildah is not installed (Debian: apt-get install buildah)"
  exit
fi
host/packaging/image.sh "$binary" sluice-try > /dev/null
container=$(buildah from localhost/sluice-try)
containers+=("$container")
root=$made/root
mkdir "$root"
mount --bind "$(buildah mount "$container")" "$root"
mounts=("$root")
mount -o remount,bind,ro "$root"
for folder in cache lib; do
  mount -t tmpfs -o uid=65532,gid=65532,mode=0700 none "$root/var/$folder/sluice"
  mounts=("$root/var/$folder/sluice" "${mounts[@]}")
done
# The process itself, so that its id is the server's.
inside=(env -i PATH="$PATH" XDG_CACHE_HOME=/var/cache XDG_DATA_HOME=/var/lib chroot --userspec=65532:65532 "$root")
"${inside[@]}" /usr/bin/sluice serve --listen 127.0.0.1:8077 --threads 1 > "$made/log" 2>&1 &
server=$!
for _ in $(seq 100); do
  "${inside[@]}" /usr/bin/sluice health --url http://127.0.0.1:8077 2> /dev/null && healthy=1 && break
  kill -0 "$server" 2> /dev/null || break
  sleep 0.2
done
[ "${healthy:-}" ] || { cat "$made/log"; echo "the image's server isn't healthy" >&2; exit 1; }
grep "store " "$made/log"
grep -q "sqlite\|/var/lib/sluice" "$made/log" || { echo "it stores nothing in its volume" >&2; exit 1; }
test -n "$(ls "$root/var/cache/sluice/parsers")"
echo "the image serves: read-only, as user 65532"

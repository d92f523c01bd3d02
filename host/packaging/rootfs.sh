#!/usr/bin/env bash
# Collects all that the server needs to run in an empty container: `rootfs.sh BINARY DIR` writes the stripped binary, the loader, the shared
# libraries that it is linked with, and the CA certificates of this machine into DIR.
set -euo pipefail
[ $# -eq 2 ] || { echo "usage: rootfs.sh BINARY DIR" >&2; exit 2; }
binary=$1 root=$2

install -D -m 755 "$binary" "$root/usr/bin/sluice"
strip "$root/usr/bin/sluice"
ln -sf sluice "$root/usr/bin/host"
# Lines are `NAME => PATH (ADDRESS)`, and for the loader `PATH (ADDRESS)`.
ldd "$binary" | awk '$2 == "=>" && $3 ~ /^\// { print $3 } $1 ~ /^\// { print $1 }' | while read -r library; do
  install -D -m 755 "$(readlink -f "$library")" "$root$library"
done
certificates=/etc/ssl/certs/ca-certificates.crt
if [ -f "$certificates" ]; then
  install -D -m 644 "$certificates" "$root$certificates"
fi
# The folders that the server writes to belong to its user.
for folder in var/cache/sluice var/lib/sluice; do
  install -d -m 700 -o 65532 -g 65532 "$root/$folder"
done
install -d -m 755 "$root/models"

#!/usr/bin/env bash
# Runs a command with a Postgres server of its own, which SLUICE_TEST_POSTGRES names to it: from Debian's package, which is installed where it is missing
# and this user may do so, with a balancer (haproxy) and a pooler (pgbouncer). Where there can't be one, says so and runs the command without: its tests on Postgres say then that they are skipped.
# Its database `sluice`, which a test makes, asks for a password (SLUICE_TEST_POSTGRES_PASSWORD); no other does.
# A server that SLUICE_TEST_POSTGRES names already is used as it is.
# usage: tests/postgres.sh COMMAND…
set -euo pipefail

without() {
    echo "== without Postgres: $1; tests on it are skipped" >&2
    exec "${COMMAND[@]}"
}
COMMAND=("$@")
[ -z "${SLUICE_TEST_POSTGRES:-}" ] || exec "${COMMAND[@]}"

binaries() { ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1; }
if { [ -z "$(binaries)" ] || ! [ -x /usr/sbin/haproxy ] || ! [ -x /usr/sbin/pgbouncer ]; } && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "== installing Postgres, pgbouncer and haproxy" >&2
    # Without the cluster that the package would start by itself.
    mkdir -p /etc/postgresql-common/createcluster.d
    echo "create_main_cluster = false" > /etc/postgresql-common/createcluster.d/sluice.conf
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends postgresql haproxy pgbouncer; } > /dev/null 2>&1 || true
fi
BIN=$(binaries)
[ -n "$BIN" ] || without "its package (postgresql) is not installed, and can't be"

# Postgres runs as no root; a folder below root's home would be closed to its user.
FOLDER=$(mktemp -d)
as() { "$@"; }
if [ "$(id -u)" = 0 ]; then
    chown postgres "$FOLDER"
    as() { (cd "$FOLDER" && runuser -u postgres -- "$@"); }
fi
stop() {
    [ ! -e "$FOLDER/pgbouncer.pid" ] || kill "$(cat "$FOLDER/pgbouncer.pid")" || true
    as "$BIN/pg_ctl" -D "$FOLDER/data" -m immediate stop > /dev/null 2>&1 || true
    rm -rf "$FOLDER"
}
trap stop EXIT
export SLUICE_TEST_POSTGRES_PASSWORD=database-secret
as sh -c "echo $SLUICE_TEST_POSTGRES_PASSWORD > $FOLDER/password"
as "$BIN/initdb" -D "$FOLDER/data" -A trust -U sluice --pwfile="$FOLDER/password" -E UTF8 --locale=C > "$FOLDER.log" 2>&1 || { cat "$FOLDER.log" >&2; without "initdb fails"; }
as sed -i '1i host sluice all all scram-sha-256' "$FOLDER/data/pg_hba.conf"
rm -f "$FOLDER.log"
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
PORT=$(free_port)
# What a crash of the machine would take needn't be tested.
SETTINGS="-c listen_addresses=127.0.0.1 -c port=$PORT -c unix_socket_directories=$FOLDER -c max_connections=400 -c fsync=off"
as "$BIN/pg_ctl" -D "$FOLDER/data" -o "$SETTINGS" -l "$FOLDER/data/log" -w start > /dev/null || without "it doesn't start"
export SLUICE_TEST_POSTGRES=postgres://sluice@127.0.0.1:$PORT/postgres

# A pooler that lends a connection for one transaction, as it is used in front of many hosts.
if [ -x /usr/sbin/pgbouncer ]; then
    POOL=$(free_port)
    cat > "$FOLDER/pgbouncer.ini" <<END
[databases]
* = host=127.0.0.1 port=$PORT user=sluice
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $POOL
auth_type = any
pool_mode = transaction
default_pool_size = 4
max_client_conn = 1000
unix_socket_dir =
pidfile = $FOLDER/pgbouncer.pid
logfile = $FOLDER/pgbouncer.log
END
    as /usr/sbin/pgbouncer -q -d "$FOLDER/pgbouncer.ini" || { echo "== pgbouncer doesn't start" >&2; exit 1; }
    export SLUICE_TEST_PGBOUNCER=postgres://sluice@127.0.0.1:$POOL/postgres
fi

"${COMMAND[@]}"

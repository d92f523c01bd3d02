"""Two hosts that share a Postgres database, behind haproxy: a client comes to either of them with each connection."""
import contextlib
import glob
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request

from server import Server

CONFIG = """
defaults
    mode http
    timeout connect 1s
    timeout client 1h
    timeout server 1h
    timeout tunnel 1h
    # Another host is asked where one doesn't take the connection.
    option redispatch 1
    retries 3
frontend clients
    bind 127.0.0.1:{port}
    # Each request by itself, though clients keep their connections.
    option http-server-close
    default_backend hosts
backend hosts
    balance roundrobin
    option httpchk GET /ready
    default-server check inter 200ms fall 1 rise 1
{servers}
"""


def missing():
    """What two hosts need that isn't here, in words; none if all is."""
    if "SLUICE_TEST_POSTGRES" not in os.environ:
        return "SLUICE_TEST_POSTGRES names no database (tests/postgres.sh)"
    if not _haproxy():
        return "haproxy isn't installed (tests/postgres.sh)"


def _haproxy():
    return shutil.which("haproxy") or next(iter(glob.glob("/usr/sbin/haproxy")), None)


def _psql(sql):
    subprocess.run(["psql", "--quiet", "--dbname", os.environ["SLUICE_TEST_POSTGRES"], "--command", sql], check=True)


class Hosts:
    """Two hosts with these arguments. Tests use it as they use one server."""

    def __init__(self, *arguments):
        self.database = f"clients_{os.getpid()}_{time.monotonic_ns()}"
        _psql(f"CREATE DATABASE {self.database}")
        url = os.environ["SLUICE_TEST_POSTGRES"].rsplit("/", 1)[0] + "/" + self.database
        self.folder = tempfile.TemporaryDirectory()
        key = str(pathlib.Path(self.folder.name) / "seal.key")
        self.hosts = [Server(*arguments, "--store", url, "--seal-key", key) for _ in range(2)]
        with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as free:
            port = free.getsockname()[1]
        addresses = [host.address.removeprefix("http://") for host in self.hosts]
        servers = "\n".join(f"    server host{number} {address}" for number, address in enumerate(addresses))
        config = pathlib.Path(self.folder.name) / "haproxy.cfg"
        config.write_text(CONFIG.format(port=port, servers=servers))
        self.balancer = subprocess.Popen([_haproxy(), "-db", "-q", "-f", config])
        self.address = f"http://127.0.0.1:{port}"
        self._answers()

    def _answers(self):
        deadline = time.monotonic() + 30
        while True:
            try:
                with urllib.request.urlopen(self.address + "/ready", timeout=5):
                    return
            except OSError:
                assert time.monotonic() < deadline, "haproxy doesn't answer"
                time.sleep(0.02)

    def kill(self, number):
        """Ends a host as a crash does."""
        host = self.hosts.pop(number)
        host.process.kill()
        host.process.wait(60)

    def stop(self):
        for host in self.hosts:
            host.stop()
        self.balancer.kill()
        self.balancer.wait(60)
        _psql(f"DROP DATABASE {self.database} WITH (FORCE)")

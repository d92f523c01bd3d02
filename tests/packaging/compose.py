#!/usr/bin/env python3
"""What host/packaging/compose configures, tried without containers: Prometheus scrapes with its key, and nginx and Caddy, with TLS, pass on each
event when it comes, end what a client leaves, and forward WebSockets.

Needs the binary (`SLUICE_HOST`, else target/release/host) and openssl; of prometheus, nginx and caddy, what isn't installed is skipped and said.
"""
import contextlib
import json
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/dashboard"))
from run import HOST, free_port, get, until  # noqa: E402

FILES = ROOT / "host/packaging/compose"
KEY, METRICS_KEY = "alice-secret", "metrics-secret"
# How long what must come may take.
PATIENCE = 30


@contextlib.contextmanager
def running(folder, name, *arguments, **environment):
    log = folder / f"{name}.log"
    with log.open("w") as file:
        command = [str(one) for one in arguments]
        process = subprocess.Popen(command, stdout=file, stderr=file, cwd=folder, env={**os.environ, **environment})
    try:
        yield process
    except BaseException:
        print(f"{name}: {log.read_text()[-2000:]}", file=sys.stderr)
        raise
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Upstream:
    """A server whose stream has one event, and a second one once `go_on` is set; `left` is set when its client leaves before."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.go_on, self.left = threading.Event(), threading.Event()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.answer, args=[connection], daemon=True).start()

    def answer(self, connection):
        head = b""
        while b"\r\n\r\n" not in head:
            read = connection.recv(4096)
            if not read:
                return
            head += read
        if head.startswith(b"GET /ready "):
            connection.sendall(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
            return connection.close()
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        connection.sendall(b"d\r\ndata: first\n\n\r\n")
        threading.Thread(target=self.watch, args=[connection], daemon=True).start()
        if self.go_on.wait(PATIENCE):
            with contextlib.suppress(OSError):
                connection.sendall(b"e\r\ndata: second\n\n\r\n0\r\n\r\n")

    def watch(self, connection):
        # An end and a reset say the same.
        with contextlib.suppress(OSError):
            if connection.recv(1) != b"":
                return
        self.left.set()


class Proxy:
    """An address with TLS, and who signed its certificate."""

    def __init__(self, port, authority):
        self.port, self.authority = port, authority

    def open(self):
        context = ssl.create_default_context(cafile=self.authority)
        return context.wrap_socket(socket.create_connection(("127.0.0.1", self.port), PATIENCE), server_hostname="localhost")

    def is_up(self):
        if not self.authority.exists():
            return False
        self.open().close()
        return True


def read_until(connection, wanted):
    text = b""
    while wanted not in text:
        read = connection.recv(4096)
        assert read, f"the stream ended before {wanted}: {text[-500:]}"
        text += read
    return text


def ask(connection, path="/stream"):
    connection.sendall(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())


def check_stream(proxy, upstream):
    """The second event is only sent once the first was read: a proxy that keeps the first one fails."""
    with proxy.open() as connection:
        ask(connection)
        read_until(connection, b"data: first\n\n")
        upstream.go_on.set()
        read_until(connection, b"data: second\n\n")


def check_leaving(proxy, upstream):
    with proxy.open() as connection:
        ask(connection)
        read_until(connection, b"data: first\n\n")
    assert upstream.left.wait(PATIENCE), "the client left, and the server wasn't told"


def check_run(proxy):
    """The command line asks the server through the proxy."""
    command = [HOST, "run", "--url", f"https://localhost:{proxy.port}", "--ca", proxy.authority, "Who are you?"]
    answer = subprocess.run(command, env={**os.environ, "SLUICE_API_KEY": KEY}, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert answer.returncode == 0 and answer.stdout.strip(), answer


def check_web_socket(proxy):
    request = {"type": "response.create", "model": "qwen3-tiny", "input": "Hi", "max_output_tokens": 8}
    payload = json.dumps(request).encode()
    assert len(payload) < 126, "a longer frame has another head"
    head = [
        "GET /v1/responses HTTP/1.1",
        "host: localhost",
        f"authorization: Bearer {KEY}",
        "connection: Upgrade",
        "upgrade: websocket",
        "sec-websocket-version: 13",
        "sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==",
    ]
    with proxy.open() as connection:
        connection.sendall("\r\n".join([*head, "", ""]).encode())
        assert read_until(connection, b"\r\n\r\n").startswith(b"HTTP/1.1 101 ")
        # A text frame with a mask of zeros.
        connection.sendall(bytes([0x81, 0x80 | len(payload), 0, 0, 0, 0]) + payload)
        read_until(connection, b"response.incomplete")


def certificate(folder):
    """The files of a certificate for localhost and of its key, which are made once."""
    certificates = folder / "certificates"
    chain, key = certificates / "fullchain.pem", certificates / "privkey.pem"
    if not certificates.exists():
        certificates.mkdir()
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=localhost",
             "-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=critical,CA:FALSE", "-keyout", key, "-out", chain],
            check=True, capture_output=True,
        )
    return chain, key


@contextlib.contextmanager
def nginx(folder, upstream):
    port = free_port()
    site = (FILES / "nginx.conf").read_text().replace("sluice:8000", f"127.0.0.1:{upstream}").replace("listen 443", f"listen 127.0.0.1:{port}")
    temporary = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"])
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/nginx.pid; error_log stderr;\nevents {{}}\nhttp {{ access_log off;\n{temporary}{site}}}\n"
    )
    chain, _ = certificate(folder)
    command = ["nginx", "-p", folder, "-e", "stderr", "-c", folder / "nginx.conf"]
    subprocess.run([*command, "-t", "-q"], check=True)
    with running(folder, "nginx", *command):
        yield Proxy(port, chain)


@contextlib.contextmanager
def caddy(folder, upstream):
    port = free_port()
    # Its own authority isn't to be trusted by this machine.
    options = f"{{\n\tadmin off\n\tskip_install_trust\n\tauto_https disable_redirects\n\thttps_port {port}\n}}\n"
    config = folder / "Caddyfile"
    config.write_text(options + (FILES / "Caddyfile").read_text())
    names = {"SLUICE_NAME": "localhost", "SLUICE_ADDRESS": f"127.0.0.1:{upstream}", "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    with running(folder, "caddy", "caddy", "run", "--config", config, "--adapter", "caddyfile", **names):
        yield Proxy(port, folder / "caddy/pki/authorities/local/root.crt")


def check_proxy(start, folder, server):
    for check in check_stream, check_leaving:
        upstream = Upstream()
        with start(folder, upstream.port) as proxy:
            until("the proxy", proxy.is_up)
            check(proxy, upstream)
    with start(folder, server) as proxy:
        until("the proxy", proxy.is_up)
        check_run(proxy)
        check_web_socket(proxy)


def check_prometheus(folder, server):
    key, config, port = folder / "metrics_key", folder / "prometheus.yml", free_port()
    key.write_text(METRICS_KEY)
    text = (FILES / "prometheus.yml").read_text()
    for ours, here in [("/run/secrets/metrics_key", key), ("sluice:8000", f"127.0.0.1:{server}"), ("15s", "1s")]:
        assert ours in text, ours
        text = text.replace(ours, str(here))
    config.write_text(text)
    subprocess.run(["promtool", "check", "config", config], check=True, stdout=subprocess.DEVNULL)
    switches = [f"--config.file={config}", f"--storage.tsdb.path={folder}/tsdb", f"--web.listen-address=127.0.0.1:{port}"]
    with running(folder, "prometheus", "prometheus", *switches):
        query = f"http://127.0.0.1:{port}/api/v1/query?query=sluice_streams"
        until("Prometheus' first figures", lambda: json.loads(get(query))["data"]["result"])


def main(folder):
    server = free_port()
    keys = {"SLUICE_API_KEY": f"alice={KEY},metrics={METRICS_KEY}", "XDG_DATA_HOME": str(folder / "data")}
    with running(folder, "server", HOST, "serve", "--listen", server, "--threads", 1, **keys):
        until("the server", lambda: get(f"http://127.0.0.1:{server}/ready"))
        for name, check in [
            ("prometheus", lambda: check_prometheus(folder, server)),
            ("nginx", lambda: check_proxy(nginx, folder, server)),
            ("caddy", lambda: check_proxy(caddy, folder, server)),
        ]:
            if shutil.which(name):
                check()
                print(f"{name}: as the compose file has it")
            else:
                print(f"skipped: {name} is not installed (Debian: apt-get install {name})")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(pathlib.Path(made))

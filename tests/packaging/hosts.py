#!/usr/bin/env python3
"""What host/packaging/compose/hosts.yaml configures, tried without containers: two servers on one Postgres behind HAProxy, in front of an engine. Started
by cluster.sh, which brings a reader of YAML. Without Postgres or HAProxy it is skipped, and that is said."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile

import yaml

import postgres
from compose import FILES, HOST, KEY, METRICS_KEY, PATIENCE, Upstream, check_leaving, check_stream, check_web_socket, free_port, running, until
from served import status

SETTINGS = {"SLUICE_API_KEY": f"alice={KEY}", "SLUICE_METRICS_KEY": METRICS_KEY, "POSTGRES_PASSWORD": postgres.PASSWORD}


class Balancer:
    """An address without TLS."""

    def __init__(self, port):
        self.port = port

    def open(self):
        return socket.create_connection(("127.0.0.1", self.port), PATIENCE)

    def is_up(self):
        self.open().close()
        return True


def filled(text):
    """A text with Compose's variables: `${NAME:-DEFAULT}`, `${NAME:?REASON}`."""
    return re.sub(r"\$\{(\w+):([-?])([^}]*)\}", lambda found: SETTINGS.get(found[1]) or {"-": found[3]}[found[2]], text)


@contextlib.contextmanager
def haproxy(folder, addresses):
    """The balancer, before servers at other addresses than in the file."""
    port, config = free_port(), folder / "haproxy.cfg"
    text = (FILES / "haproxy.cfg").read_text().replace("bind :8000", f"bind 127.0.0.1:{port}")
    for name, address in addresses.items():
        assert f" {name}:8000" in text, name
        text = text.replace(f" {name}:8000", f" 127.0.0.1:{address}")
    config.write_text(text)
    subprocess.run(["haproxy", "-c", "-q", "-f", config], check=True)
    with running(folder, "haproxy", "haproxy", "-db", "-f", config):
        balancer = Balancer(port)
        until("the balancer", balancer.is_up)
        yield balancer


@contextlib.contextmanager
def service(folder, name, services, ports):
    """A server of the file, which finds the others at `ports`."""
    one = services[name]
    command = filled(one["command"]).replace("0.0.0.0:8000", f"127.0.0.1:{ports[name]}")
    for other, port in ports.items():
        command = re.sub(rf"\b{other}:\d+", f"127.0.0.1:{port}", command)
    environment = {key: filled(value) for key, value in one.get("environment", {}).items()}
    # The volume that both servers have.
    environment["XDG_DATA_HOME"] = str(folder / "data")
    with running(folder, name, HOST, *command.split(), **environment) as process:
        until(name, lambda: status(f"http://127.0.0.1:{ports[name]}/ready")[0] == 200)
        yield process


def served(port):
    """How many responses a server was asked for and gave."""
    _, text = status(f"http://127.0.0.1:{port}/metrics", METRICS_KEY)
    found = re.findall(r'^sluice_requests_total\{route="/v1/responses",status="200"\} (\d+)$', text, re.M)
    return sum(map(int, found))


def ask(base, previous=None):
    question = {"model": "qwen3-tiny", "input": "Who are you?", "max_output_tokens": 4, "previous_response_id": previous}
    code, answer = status(f"{base}/v1/responses", KEY, question)
    assert code == 200, answer
    return json.loads(answer)["id"]


def check_chain(folder, services, ports):
    """A chain goes on from any server, also when one of them is stopped, and when the other one is killed."""
    addresses = {name: ports[name] for name in ("first", "second")}
    with contextlib.ExitStack() as stack:
        postgres.database()
        stack.enter_context(service(folder, "engine", services, ports))
        started = [stack.enter_context(service(folder, name, services, ports)) for name in addresses]
        balancer = stack.enter_context(haproxy(folder, addresses))
        base = f"http://127.0.0.1:{balancer.port}"
        until("a server that is ready", lambda: status(f"{base}/ready")[0] == 200)
        assert status(f"{base}/v1/models")[0] == 401
        check_web_socket(balancer)
        last = None
        for _ in range(8):
            last = ask(base, last)
        shares = [served(port) for port in addresses.values()]
        assert sum(shares) == 8 and all(shares), shares
        started[0].terminate()
        for _ in range(8):
            last = ask(base, last)
        assert started[0].wait(PATIENCE) == 0
        with service(folder, "first", services, ports):
            until("both servers", lambda: (ask(base), served(ports["first"]))[1])
            started[1].kill()
            started[1].wait(PATIENCE)
            for _ in range(8):
                last = ask(base, last)
        code, answer = status(f"{base}/v1/responses/{last}", KEY)
        assert code == 503, (code, answer)


def main(folder):
    folder.chmod(0o755)
    services = yaml.safe_load((FILES / "hosts.yaml").read_text())["services"]
    for name in "first", "second", "engine":
        assert services[name]["read_only"] and services[name]["cap_drop"] == ["ALL"], name
    lacking = postgres.lacking() or ("" if shutil.which("haproxy") else "haproxy (Debian: apt-get install haproxy)")
    if lacking:
        print(f"skipped: two servers behind a balancer need {lacking}")
        return
    for check in check_stream, check_leaving:
        upstream = Upstream()
        with haproxy(folder, {"first": upstream.port, "second": upstream.port}) as balancer:
            check(balancer, upstream)
    check_chain(folder, services, {**{name: free_port() for name in ("first", "second", "engine")}, "postgres": postgres.port()})
    print("hosts: two servers, Postgres and HAProxy, as the compose file has them")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(pathlib.Path(made))

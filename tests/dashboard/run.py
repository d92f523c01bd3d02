#!/usr/bin/env python3
"""Every query of docs/grafana/sluice.json, on a real Prometheus that scrapes a server with a model of its own and a server in front of it.

Needs the binary (`SLUICE_HOST`, else target/release/host) and `prometheus` on the PATH (Debian: apt-get install prometheus); without
Prometheus it says so and ends with status 77.
"""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOST = os.environ.get("SLUICE_HOST", ROOT / "target/release/host")
PATIENCE = 90


def free_port():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


def get(url, data=None):
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return answer.read()


def until(what, holds):
    """Waits until `holds` returns something true; a connection that isn't there yet is nothing."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            if found := holds():
                return found
        except OSError:
            pass
        time.sleep(0.3)
    sys.exit(f"{what}: not in {PATIENCE} s")


def ask(port):
    body = {"model": "qwen3-tiny", "input": "Who are you?", "max_output_tokens": 24, "store": True}
    get(f"http://127.0.0.1:{port}/v1/responses", json.dumps(body).encode())


def expressions(dashboard):
    """(panel, query) of all panels, with Grafana's variables filled in."""
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            query = target["expr"].replace("$__rate_interval", "20s").replace("$model", ".*")
            assert "$" not in query, query
            yield panel["title"], query


def known_metrics(port):
    text = get(f"http://127.0.0.1:{port}/metrics").decode()
    return set(re.findall(r"^# TYPE (\S+)", text, re.M))


def check(folder):
    backend, front, prometheus = free_port(), free_port(), free_port()
    tools = folder / "tools.json"
    tools.write_text('{"mcpServers": {"files": {"url": "http://127.0.0.1:9/mcp"}}}')
    config = folder / "prometheus.yml"
    config.write_text(
        "global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: sluice\n  static_configs:\n"
        f"  - targets: ['127.0.0.1:{backend}', '127.0.0.1:{front}']\n"
    )
    processes = []

    def start(name, *arguments):
        log = open(folder / f"{name}.log", "w")
        environment = {**os.environ, "XDG_DATA_HOME": str(folder / name)}
        processes.append(subprocess.Popen([str(one) for one in arguments], stdout=log, stderr=log, env=environment))

    try:
        start("backend", HOST, "serve", "--listen", backend, "--threads", 1, "--kv-cache", 64, "--mcp", tools)
        until("the server", lambda: get(f"http://127.0.0.1:{backend}/ready"))
        start("front", HOST, "serve", "--listen", front, "--engine", f"http://127.0.0.1:{backend}")
        until("the server in front", lambda: get(f"http://127.0.0.1:{front}/ready"))
        start("prometheus", "prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/tsdb",
              f"--web.listen-address=127.0.0.1:{prometheus}")
        until("Prometheus", lambda: get(f"http://127.0.0.1:{prometheus}/-/ready"))
        queries = list(expressions(json.loads((ROOT / "docs/grafana/sluice.json").read_text())))
        known = known_metrics(backend) | known_metrics(front)
        for panel, query in queries:
            for name in re.findall(r"sluice_\w+", query):
                assert name in known or re.sub(r"_(bucket|sum|count)$", "", name) in known, f"{panel}: {name}"
        left = dict(enumerate(queries))

        def answered():
            ask(front)
            for at, (_, query) in list(left.items()):
                asked = urllib.parse.urlencode({"query": query})
                answer = json.loads(get(f"http://127.0.0.1:{prometheus}/api/v1/query?{asked}"))
                if answer["data"]["result"]:
                    del left[at]
            return not left

        try:
            until("queries", answered)
        except SystemExit:
            sys.exit("no series:\n" + "\n".join(f"{panel}: {query}" for panel, query in left.values()))
        print(f"{len(queries)} queries of {len({panel for panel, _ in queries})} panels have series")
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(20)


if __name__ == "__main__":
    if not shutil.which("prometheus"):
        print("skipped: no prometheus on the PATH (Debian: apt-get install prometheus)")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as made:
        check(pathlib.Path(made))

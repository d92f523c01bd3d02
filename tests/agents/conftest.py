import json
import os
import pathlib
import re
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
UV = HERE / "light/.venv/bin/uv"
sys.path.insert(0, str(HERE.parent / "clients/python"))

import models  # noqa: E402
from proxy import Proxy  # noqa: E402
from server import Server  # noqa: E402


@pytest.fixture(scope="session", params=models.FORMATS)
def served(request, tmp_path_factory):
    """A server whose model writes one format, and the model's name."""
    name = request.param
    directory = models.make(name, tmp_path_factory.mktemp("models"))
    server = Server("--model", str(directory), "--engine", f"replay:{HERE}/transcripts/{name}.json")
    yield server, name
    server.stop()


@pytest.fixture
def model(served):
    return served[1]


@pytest.fixture
def proxied(served, request):
    """Makes the proxy to which the agent connects; with `cut_at` it cuts one stream there."""
    made = []

    def make(cut_at=None):
        made.append(Proxy(served[0].address, cut_at))
        return made[-1]

    yield make
    for proxy in made:
        proxy.stop()
        if folder := os.environ.get("SLUICE_AGENT_BODIES"):
            record(proxy, pathlib.Path(folder), re.sub(r"[^a-z0-9-]+", "_", request.node.nodeid.lower()).strip("_"))


def record(proxy, folder, name):
    """Writes the requests that the agent sent over HTTP, one file for each."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, exchange in enumerate(exchange for exchange in proxy.exchanges if exchange.status != 101):
        body = {"path": exchange.path, "body": exchange.request}
        (folder / f"{name}-{number}.json").write_text(json.dumps(body, indent=1, ensure_ascii=False))

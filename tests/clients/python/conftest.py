import os
import pathlib
import subprocess

import hosts
import pytest
from openai import OpenAI
from server import ROOT, Server, replay_file
from transcripts import rules


def running(*arguments):
    server = Server(*arguments)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def embedded():
    """A server with default arguments: the tiny model inside the binary."""
    yield from running()


@pytest.fixture(scope="session")
def chained(embedded):
    """A server in front of a server in front of `embedded`."""
    for middle in running("--engine", embedded.address):
        yield from running("--engine", middle.address)


@pytest.fixture(scope="session")
def gpt_oss():
    """A server of a trained model of another family, from its directory."""
    yield from running("--model", str(ROOT / "host/models/gpt-oss-tiny"))


@pytest.fixture(scope="session")
def kimi():
    """A server of a trained model of DeepSeek-V3's architecture in Kimi K2's format, from its directory."""
    yield from running("--model", str(ROOT / "host/models/kimi-tiny"))


@pytest.fixture(scope="session")
def replay(tmp_path_factory):
    """A server with the real tokenizer, template and parser, and scripted outputs."""
    yield from running("--engine", replay_file(tmp_path_factory.mktemp("replay"), rules()))


@pytest.fixture(scope="session")
def no_parser(tmp_path_factory):
    engine = replay_file(tmp_path_factory.mktemp("none"), rules())
    yield from running("--engine", engine, "--parser", "none")


@pytest.fixture(scope="session")
def faulty_parser(tmp_path_factory):
    """A server whose parser traps in the middle of a stream."""
    folder = tmp_path_factory.mktemp("guests")
    guests = os.environ.get("SLUICE_GUESTS", str(ROOT / "target/release/guests"))
    subprocess.run([guests, folder], check=True)
    engine = replay_file(folder, rules())
    yield from running("--engine", engine, "--parser", str(pathlib.Path(folder) / "trap_in_text.wasm"))


@pytest.fixture(scope="module", params=["one host", "two hosts"])
def state(request):
    """A server of scripted answers that keeps them, and two of one database behind a balancer."""
    arguments = ["--engine", f"replay:{ROOT}/tests/clients/state.json"]
    if request.param == "one host":
        yield from running(*arguments)
        return
    if why := hosts.missing():
        pytest.skip(why)
    both = hosts.Hosts(*arguments)
    yield both
    both.stop()


def client_of(server):
    return OpenAI(base_url=server.address + "/v1", api_key="none", max_retries=0, timeout=60)

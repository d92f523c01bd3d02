"""Codex and opencode on a GGUF file that llama.cpp's converter has written, with nothing else: no other model file, no script, no parser named. The
parser is chosen by the file's chat template, since no parser claims a Qwen2. The model itself calls each agent's tool, and answers its result."""
import json
import os
import pathlib
import re
import subprocess

import pytest
from notes_turns import ANSWER, CALLS
from proxy import Proxy
from server import HOST, Server
from test_codex import CODEX, codex, of, written  # noqa: F401
from test_coding import opencode, run

FILES = os.environ.get("SLUICE_GGUF_FILES", "").split()
ASKED = {tool: said for said, tool, _ in CALLS}


@pytest.fixture(scope="module", params=FILES, ids=lambda file: pathlib.Path(file).stem)
def file(request):
    return request.param


@pytest.fixture(scope="module")
def proxy_of(file):
    server = Server("--model", file, "--parser", "auto")
    proxies = []

    def make():
        proxies.append(Proxy(server.address))
        return proxies[-1]

    yield make
    for proxy in proxies:
        proxy.stop()
    server.stop()


@pytest.fixture
def model(file):
    return pathlib.Path(file).stem


def test_doctor_says_which_parser_the_template_chose(file):
    done = subprocess.run([HOST, "doctor", "--model", file, "--json"], capture_output=True, text=True, timeout=60)
    [parser] = [finding["text"] for finding in json.loads(done.stdout)["findings"] if finding["about"] == "parser"]
    assert re.match(r"qwen3 .*: no parser claims model_type qwen2 .*, and it reads a call as the model's chat template writes it", parser), parser


def test_codex_runs_the_command_that_the_model_writes(proxy_of, codex):  # noqa: F811
    proxy = proxy_of()
    shown, work = codex(proxy, ASKED["exec_command"])
    assert (work / "codex.txt").read_text() == "done\n"
    [command] = of("command_execution", shown)
    assert (command["aggregated_output"], command["exit_code"]) == ("done\n", 0)
    assert [item["text"] for item in of("agent_message", shown)] == [ANSWER]
    first, second = proxy.exchanges
    [call] = of("function_call", written(first))
    [result] = of("function_call_output", second.request["input"])
    assert call["call_id"] == result["call_id"]


def test_opencode_runs_the_command_that_the_model_writes(proxy_of, model, tmp_path):
    proxy = proxy_of()
    [command], settings = opencode(proxy.address + "/v1", model)
    done, work = run([[*command, ASKED["bash"]]], settings, tmp_path)
    assert (work / "opencode.txt").exists(), done.stdout + done.stderr
    assert (work / "opencode.txt").read_text() == "done\n"
    assert ANSWER in done.stdout
    assert {exchange.status for exchange in proxy.exchanges} == {200}


def test_launched_codex_runs_the_command(file, tmp_path):
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    environment = {"PATH": os.pathsep.join([str(CODEX.parent), os.environ["PATH"]]), "HOME": str(home), "TMPDIR": str(tmp_path)}
    switches = ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    command = [HOST, "launch", "codex", "-m", file, "--", *switches, ASKED["exec_command"]]
    done = subprocess.run(command, cwd=work, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (work / "codex.txt").read_text() == "done\n"
    assert ANSWER in done.stdout

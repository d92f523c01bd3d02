"""Codex CLI with Sluice as its provider: a shell command (over HTTP and WebSocket), a patch through the custom tool, a lost stream, an answer that follows a schema."""
import json
import os
import pathlib
import re
import subprocess
import threading
import time

import models
import pytest
from hosts import Hosts, missing
from proxy import Proxy
from server import Server

HERE = pathlib.Path(__file__).resolve().parent
CODEX = HERE / "codex/node_modules/.bin/codex"


@pytest.fixture
def codex(tmp_path, model):
    """Runs `codex exec` in a folder of its own and returns the items that it completed, and the folder."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()

    def run(proxy, prompt, *switches):
        config = (HERE / "codex/config.toml").read_text()
        (home / "config.toml").write_text(config.replace("MODEL", model).replace("ADDRESS", proxy.address))
        command = [CODEX, "exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "CODEX_HOME": str(home), "SLUICE_KEY": "none"}
        done = subprocess.run(
            [*command, *switches, prompt], cwd=work, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stdout + done.stderr
        events = [json.loads(line) for line in done.stdout.splitlines()]
        return [event["item"] for event in events if event["type"] == "item.completed"], work

    return run


def of(kind, items):
    return [item for item in items if item.get("type") == kind]


def written(exchange):
    """Returns the items that the server completed in one answer."""
    return [event["item"] for event in exchange.events() if event["type"] == "response.output_item.done"]


def test_a_shell_turn(proxied, codex):
    proxy = proxied()
    shown, work = codex(proxy, "Make greeting.txt with the shell.")
    assert (work / "greeting.txt").read_text() == "hello\n"
    [command] = of("command_execution", shown)
    assert (command["aggregated_output"], command["exit_code"]) == ("hello\n", 0)
    assert [item["text"] for item in of("agent_message", shown)] == ["I write the file.", "greeting.txt is there."]
    assert [item["text"] for item in of("reasoning", shown)] == ["A shell command does that.", "It printed what it should."]
    first, second = proxy.exchanges
    [call] = of("function_call", written(first))
    [again] = of("function_call", second.request["input"])
    [result] = of("function_call_output", second.request["input"])
    assert again["call_id"] == result["call_id"] == call["call_id"]
    assert again["arguments"] == call["arguments"]
    assert "hello" in json.dumps(result["output"])
    [sealed] = of("reasoning", second.request["input"])
    assert sealed["encrypted_content"] == of("reasoning", written(first))[0]["encrypted_content"]


def test_the_server_says_what_its_model_can_do(proxied, codex, tmp_path):
    proxy = proxied()
    codex(proxy, "Make greeting.txt with the shell.")
    assert {exchange.path.split("=")[0] for exchange in proxy.gets} == {"/v1/models?client_version"}
    [session] = (tmp_path / "home/sessions").glob("**/*.jsonl")
    assert set(re.findall(r'"model_context_window":(\d+)', session.read_text())) == {str(models.CONTEXT * 95 // 100)}
    request = proxy.exchanges[0].request
    assert request["reasoning"]["effort"] == "medium"
    assert "apply_patch" in [tool.get("name") for tool in request["tools"] if tool["type"] == "custom"]


SOCKET = ["-c", "model_providers.sluice.supports_websockets=true"]


def test_over_a_web_socket_only_what_is_new_is_sent(proxied, codex):
    proxy = proxied()
    shown, work = codex(proxy, "Make greeting.txt with the shell.", *SOCKET)
    assert (work / "greeting.txt").read_text() == "hello\n"
    assert [item["text"] for item in of("agent_message", shown)] == ["I write the file.", "greeting.txt is there."]
    assert {exchange.status for exchange in proxy.exchanges if exchange.path == "/v1/responses"} == {101}
    warmed, first, second = proxy.exchanges
    responses = [exchange.events()[-1]["response"] for exchange in proxy.exchanges]
    assert [response["status"] for response in responses] == ["completed"] * 3, responses
    assert (warmed.request["generate"], responses[0]["output"]) == (False, [])
    parents = [exchange.request.get("previous_response_id") for exchange in proxy.exchanges]
    assert parents == [None, responses[0]["id"], responses[1]["id"]]
    assert not {item["id"] for item in warmed.request["input"]} & {item["id"] for item in first.request["input"]}
    assert [item["type"] for item in second.request["input"]] == ["function_call_output"]
    assert [exchange.request["store"] for exchange in proxy.exchanges] == [False] * 3


@pytest.mark.parametrize("transport", [[], SOCKET], ids=["http", "socket"])
def test_a_long_session_is_compacted_by_the_server(proxied, codex, transport):
    proxy = proxied()
    compacting = ["-c", 'model_providers.sluice.name="OpenAI"', "-c", "model_auto_compact_token_limit=5000"]
    shown, _ = codex(proxy, "Make greeting.txt with the shell.", *compacting, *transport)
    assert of("agent_message", shown)[-1]["text"] == "greeting.txt is there, as the summary says."
    _, compacted, last = [exchange for exchange in proxy.exchanges if exchange.request.get("generate", True)]
    assert compacted.request["input"][-1] == {"type": "compaction_trigger"}
    [summary] = written(compacted)
    assert [item["type"] for item in last.request["input"] if item["type"] != "message"] == ["compaction"]
    [again] = of("compaction", last.request["input"])
    assert again["encrypted_content"] == summary["encrypted_content"]


def test_a_patch_goes_through_the_custom_tool(proxied, codex, tmp_path):
    (tmp_path / "work/greeting.txt").write_text("hello\n")
    proxy = proxied()
    shown, work = codex(proxy, "Patch greeting.txt, please.")
    assert (work / "greeting.txt").read_text() == 'hello, "Zürich" \\o/\n'
    assert (work / "notes/second.txt").read_text() == "a line\n\tand a tab\n"
    [change] = of("file_change", shown)
    assert (change["status"], len(change["changes"])) == ("completed", 2)
    assert of("agent_message", shown)[-1]["text"] == "Both files are patched."
    first, second = proxy.exchanges
    [call] = of("custom_tool_call", written(first))
    pieces = [event["delta"] for event in first.events() if event["type"] == "response.custom_tool_call_input.delta"]
    assert len(pieces) > 3
    assert "".join(pieces) == call["input"]
    [result] = of("custom_tool_call_output", second.request["input"])
    assert result["call_id"] == call["call_id"]


LOST = {
    "in its reasoning": (b'"type":"response.reasoning_summary_text.delta"', []),
    "in its message": (b'"type":"response.output_text.delta"', ["reasoning"]),
    "in the arguments": (b'"type":"response.function_call_arguments.delta"', ["reasoning", "message"]),
}


@pytest.mark.parametrize("place", LOST)
def test_a_lost_stream_is_asked_for_again(proxied, codex, place):
    cut_at, kept = LOST[place]
    proxy = proxied(cut_at)
    shown, work = codex(proxy, "Make greeting.txt with the shell.")
    assert (work / "greeting.txt").read_text() == "hello\n"
    assert of("agent_message", shown)[-1]["text"] == "greeting.txt is there."
    assert [(exchange.cut, exchange.status) for exchange in proxy.exchanges] == [(True, 200), (False, 200), (False, 200)]
    first, second, _ = (exchange.request["input"] for exchange in proxy.exchanges)
    assert [item["type"] for item in second[len(first) :]] == kept


SCHEMA = {
    "type": "object",
    "properties": {
        "state": {"enum": ["done", "failed"]},
        "files": {"type": "array", "items": {"enum": ["a.txt", "b.txt"]}, "minItems": 1, "maxItems": 3},
        "checks": {"type": "integer", "minimum": 0, "maximum": 99},
    },
    "required": ["state", "files", "checks"],
    "additionalProperties": False,
}


@pytest.fixture
def unread(tmp_path):
    """A server of a model with random weights, so that only the schema can give its answer the right form."""
    server = Server("--model", str(models.make_weightless(tmp_path / "models")), "--load-format", "dummy", "--context", "65536")
    yield server
    server.stop()


@pytest.mark.parametrize("model", ["qwen3-coder"])
def test_an_answer_has_the_schema_that_codex_was_given(unread, codex, tmp_path, model):
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    proxy = Proxy(unread.address)
    shown, _ = codex(proxy, "Which files did you write?", "--output-schema", tmp_path / "schema.json")
    proxy.stop()
    [exchange] = proxy.exchanges
    asked = exchange.request["text"]["format"]
    assert (asked["type"], asked["schema"], asked["strict"]) == ("json_schema", SCHEMA, True)
    [message] = of("agent_message", shown)
    answer = json.loads(message["text"])
    assert set(answer) == {"state", "files", "checks"}
    assert answer["state"] in ("done", "failed") and answer["checks"] in range(100)
    assert 1 <= len(answer["files"]) <= 3 and set(answer["files"]) <= {"a.txt", "b.txt"}


@pytest.fixture
def hosts(tmp_path):
    """Two servers that share a database, behind a balancer; their answers come slowly enough to be broken off."""
    if why := missing():
        pytest.skip(why)
    script = json.loads((HERE / "transcripts/qwen3.json").read_text())
    script["rules"] = [{**rule, "pace_ms": 20} for rule in script["rules"]]
    (tmp_path / "script.json").write_text(json.dumps(script))
    hosts = Hosts("--model", str(models.make("qwen3", tmp_path / "models")), "--engine", f"replay:{tmp_path}/script.json")
    yield hosts
    hosts.stop()


def kill_the_one_that_answers(hosts, proxy, said, metric):
    """Kills the server that has said this to the agent, once it has."""
    while not any(said in exchange.answer for exchange in list(proxy.exchanges)):
        time.sleep(0.001)
    [answering] = [number for number, host in enumerate(hosts.hosts) if host.metric(metric) > 0]
    hosts.kill(answering)


@pytest.mark.parametrize("transport", [[], SOCKET], ids=["http", "socket"])
@pytest.mark.parametrize("model", ["qwen3"])
def test_a_server_that_is_killed_costs_a_turn_nothing(hosts, codex, transport, model):
    proxy = Proxy(hosts.address)
    metric = "sluice_websockets" if transport else "sluice_streams"
    said = b"I write"
    killer = threading.Thread(target=kill_the_one_that_answers, args=(hosts, proxy, said, metric), daemon=True)
    killer.start()
    shown, work = codex(proxy, "Make greeting.txt with the shell.", *transport)
    killer.join(10)
    assert len(hosts.hosts) == 1, "one was killed"
    assert (work / "greeting.txt").read_text() == "hello\n"
    assert of("agent_message", shown)[-1]["text"] == "greeting.txt is there."
    broken = [exchange for exchange in proxy.exchanges if said in exchange.answer and b"response.completed" not in exchange.answer]
    assert len(broken) == 1, [exchange.answer[-200:] for exchange in proxy.exchanges]
    proxy.stop()

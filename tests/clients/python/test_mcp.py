"""Tools that the server runs, on reference servers from PyPI (over stdio) and npm (over stdio and streamable HTTP)."""
import json
import os
import pathlib
import socket
import subprocess
import sys
import time

import pytest
from conftest import client_of
from server import Server, replay_file

HERE = pathlib.Path(__file__).resolve().parent
TIME = str(pathlib.Path(sys.executable).parent / "mcp-server-time")
EVERYTHING = str(HERE.parent / "node/node_modules/@modelcontextprotocol/server-everything/dist/index.js")


def call(name, arguments):
    return f'<think>\nA tool.\n</think>\n\n<tool_call>\n{json.dumps({"name": name, "arguments": arguments})}\n</tool_call>'


RULES = [
    {"when": {"last_user_contains": "time", "last_role": "user"}, "text": call("get_current_time", {"timezone": "Asia/Tokyo"})},
    {"when": {"last_user_contains": "sum", "last_role": "user"}, "text": call("get-sum", {"a": 2, "b": 40})},
    {"when": {"last_user_contains": "wrong", "last_role": "user"}, "text": call("get_current_time", {"timezone": "Nowhere/At_all"})},
    {"when": {"last_role": "tool", "contains": "Asia/Tokyo"}, "text": "<think>\n</think>\n\nIt is late in Tokyo."},
    {"when": {"last_role": "tool", "contains": "42"}, "text": "<think>\n</think>\n\nIt is 42."},
    {"when": {"last_role": "tool"}, "text": "<think>\n</think>\n\nThat went wrong."},
]


@pytest.fixture(scope="module")
def everything():
    """The reference server behind a URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["node", EVERYTHING, "streamableHttp"]
    process = subprocess.Popen(command, env={**os.environ, "PORT": str(port)}, stderr=subprocess.DEVNULL)
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except OSError:
            time.sleep(0.1)
    yield f"http://127.0.0.1:{port}/mcp"
    process.terminate()
    process.wait(10)


@pytest.fixture(scope="module")
def client(tmp_path_factory, everything):
    folder = tmp_path_factory.mktemp("mcp")
    servers = {
        "time": {"command": TIME, "args": ["--local-timezone", "UTC"], "require_approval": "never"},
        "child": {"command": "node", "args": [EVERYTHING, "stdio"], "require_approval": "never"},
        "remote": {"url": everything, "require_approval": "never"},
    }
    config = folder / "mcp.json"
    config.write_text(json.dumps({"mcpServers": servers}))
    server = Server("--engine", replay_file(folder, RULES), "--mcp", str(config))
    yield client_of(server)
    server.stop()


def ask(client, label, text, **options):
    tools = [{"type": "mcp", "server_label": label, **options}]
    with client.responses.stream(model="qwen3-tiny", input=text, tools=tools) as stream:
        kinds = [event.type for event in stream]
        return kinds, stream.get_final_response()


def test_the_time_server_answers_and_the_model_uses_it(client):
    kinds, response = ask(client, "time", "What time is it?")
    assert [item.type for item in response.output] == ["mcp_list_tools", "reasoning", "mcp_call", "message"]
    listed, _, called, _ = response.output
    assert [tool.name for tool in listed.tools] == ["get_current_time", "convert_time"]
    assert json.loads(called.output)["timezone"] == "Asia/Tokyo"
    assert response.output_text == "It is late in Tokyo."
    assert kinds.index("response.mcp_call_arguments.done") < kinds.index("response.mcp_call.completed")


@pytest.mark.parametrize("label", ["child", "remote"])
def test_the_everything_server_adds_over_stdio_and_over_http(client, label):
    _, response = ask(client, label, "The sum, please.", allowed_tools=["get-sum"])
    assert [tool.name for tool in response.output[0].tools] == ["get-sum"]
    assert "42" in response.output[2].output
    assert response.output_text == "It is 42."


def test_a_tools_own_failure_is_told_and_the_model_goes_on(client):
    kinds, response = ask(client, "time", "Something wrong.")
    called = response.output[2]
    assert called.status == "failed" and "Nowhere" in called.error.content[0]["text"]
    assert "response.mcp_call.failed" in kinds
    assert response.output_text == "That went wrong."


def test_approval_is_asked_for_and_given(client):
    tools = [{"type": "mcp", "server_label": "time", "require_approval": "always"}]
    question = {"role": "user", "content": "What time is it?"}
    asked = client.responses.create(model="qwen3-tiny", input=[question], tools=tools)
    request = asked.output[-1]
    assert request.type == "mcp_approval_request" and request.name == "get_current_time"
    answer = {"type": "mcp_approval_response", "approval_request_id": request.id, "approve": True}
    history = [question, *(item.model_dump(exclude_none=True) for item in asked.output), answer]
    response = client.responses.create(model="qwen3-tiny", input=history, tools=tools)
    assert response.output[0].type == "mcp_call" and response.output[0].approval_request_id == request.id
    assert response.output_text == "It is late in Tokyo."

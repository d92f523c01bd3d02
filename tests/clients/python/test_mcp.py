"""Server tools on reference tool servers from PyPI (over stdio) and npm (over stdio and streamable HTTP)."""
import json
import pathlib
import sys

import pytest
from conftest import client_of
from server import Server, replay_file
from tool_servers import EVERYTHING, ask, call, listening

TIME = str(pathlib.Path(sys.executable).parent / "mcp-server-time")


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
    """The reference server of Node.js behind a URL."""
    with listening(lambda port: ["node", EVERYTHING, "streamableHttp"]) as port:
        yield f"http://127.0.0.1:{port}/mcp"


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

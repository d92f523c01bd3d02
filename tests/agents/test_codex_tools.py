"""Codex with tools behind its search, its own of a namespace and sixty of a server: none costs prompt before it is found, and the found one is called. Over HTTP and WebSocket."""
import json
import sys

import pytest
from test_codex import CODEX, HERE, SOCKET, codex, of, written  # noqa: F401
from turns import call, said, scripted


def rules(form):
    found = {"tool_results": 1, "contains": "Adds two numbers."}
    agents = {"last_user_contains": "other agent"}
    return [
        {"when": agents | {"tool_results": 0}, "text": call(form, "tool_search", {"query": "close agent"})},
        {"when": agents | {"tool_results": 1}, "text": call(form, "multi_agent_v1__close_agent", {"target": "nobody"})},
        {"when": {"tool_results": 2, "last_role": "tool", "contains": "nobody"}, "text": said(form, "There is no other agent.")},
        {"when": {"tool_results": 0, "tool_declared": "tool_search"}, "text": call(form, "tool_search", {"query": "add two numbers"})},
        {"when": found, "text": call(form, "mcp__many__add", {"a": 2, "b": 3})},
        {"when": {"tool_results": 2, "contains": "The sum is 5."}, "text": said(form, "It is five.")},
        {"when": {"last_role": "developer"}, "text": said(form, "(Codex warms a WebSocket up.)")},
    ]


served = scripted(rules)


@pytest.mark.parametrize("switches", [[], SOCKET], ids=["http", "socket"])
def test_a_deferred_tool_is_found_and_called(proxied, codex, switches):  # noqa: F811
    proxy = proxied()
    # Its turn may begin without a server that takes long to start.
    server = {"command": f'"{sys.executable}"', "args": f'["{HERE}/codex/many_tools.py"]', "required": "true"}
    tools = [word for name, value in server.items() for word in ("-c", f"mcp_servers.many.{name}={value}")]
    shown, _ = codex(proxy, "What is 2 and 3?", *tools, *switches)
    assert [item["text"] for item in of("agent_message", shown)] == ["It is five."]
    [ran] = of("mcp_tool_call", shown)
    assert (ran["server"], ran["tool"], ran["arguments"]) == ("many", "add", {"a": 2, "b": 3})
    if not switches:
        kinds = [item["type"] for exchange in proxy.exchanges if exchange.request for item in written(exchange)]
        assert "tool_search_call" in kinds
        first = next(exchange for exchange in proxy.exchanges if exchange.request and exchange.request.get("tools"))
        assert "note_7" not in json.dumps(first.request["tools"])


def test_a_tool_of_a_namespace_is_called_by_its_own_name(proxied, codex):  # noqa: F811
    proxy = proxied()
    shown, _ = codex(proxy, "Close the other agent.")
    assert of("agent_message", shown)[-1]["text"] == "There is no other agent."
    _, second, third = proxy.exchanges
    [called] = of("function_call", written(second))
    assert (called["namespace"], called["name"]) == ("multi_agent_v1", "close_agent")
    [again] = of("function_call", third.request["input"])
    [result] = of("function_call_output", third.request["input"])
    assert (again["namespace"], again["name"]) == ("multi_agent_v1", "close_agent")
    assert "nobody" in json.dumps(result["output"])

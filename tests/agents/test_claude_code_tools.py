"""Claude Code with a budget for its thinking and the sixty tools of a server: the budget comes with each request, and one tool is called."""
import json
import sys

from test_claude_code import HERE, blocks, claude  # noqa: F401
from turns import call, said, scripted

BUDGET = 4000


def rules(form):
    adds = {"tool_declared": "mcp__many__add"}
    return [
        {"when": adds | {"tool_results": 0}, "text": call(form, "mcp__many__add", {"a": 2, "b": 3})},
        {"when": adds | {"tool_results": 1, "contains": "The sum is 5."}, "text": said(form, "It is five.")},
        {"text": said(form, "A sum.")},
    ]


served = scripted(rules)


def test_a_tool_of_a_server_is_called_within_the_budget(proxied, claude, tmp_path):  # noqa: F811
    proxy = proxied()
    config = tmp_path / "mcp.json"
    server = {"command": sys.executable, "args": [str(HERE / "codex/many_tools.py")]}
    config.write_text(json.dumps({"mcpServers": {"many": server}}))
    switches = ["--mcp-config", str(config), "--strict-mcp-config", "--allowedTools", "mcp__many__add"]
    shown, _ = claude(proxy, "What is 2 and 3?", *switches, MAX_THINKING_TOKENS=str(BUDGET))
    assert (shown[-1]["subtype"], shown[-1]["result"]) == ("success", "It is five.")
    asked = [exchange for exchange in proxy.exchanges if exchange.request and exchange.request.get("tools")]
    assert all(exchange.status == 200 for exchange in proxy.exchanges), proxy.exchanges
    turns = [exchange for exchange in asked if any(tool["name"] == "mcp__many__add" for tool in exchange.request["tools"])]
    assert len(turns) == 2 and {exchange.request["thinking"]["budget_tokens"] for exchange in turns} == {BUDGET}
    [called] = blocks(turns[1].request["messages"], "tool_use")
    [result] = blocks(turns[1].request["messages"], "tool_result")
    assert (called["name"], called["input"]) == ("mcp__many__add", {"a": 2, "b": 3})
    assert called["id"] == result["tool_use_id"] and "The sum is 5." in json.dumps(result["content"])
    # The thought comes back with its signature.
    assert blocks(turns[1].request["messages"], "thinking")

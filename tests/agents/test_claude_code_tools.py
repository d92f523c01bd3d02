"""Claude Code with sixty tools of a server, which it doesn't show before they are searched: one is found and called. Its thinking has no budget of tokens any more, but an effort."""
import json
import sys

from test_claude_code import HERE, blocks, claude  # noqa: F401
from turns import call, said, scripted


def rules(form):
    searches = {"tool_results": 0, "tool_declared": "ToolSearch"}
    return [
        {"when": searches, "text": call(form, "ToolSearch", {"query": "select:mcp__many__add", "max_results": 1})},
        {"when": {"tool_results": 1, "last_role": "tool"}, "text": call(form, "mcp__many__add", {"a": 2, "b": 3})},
        {"when": {"tool_results": 2, "contains": "The sum is 5."}, "text": said(form, "It is five.")},
        {"text": said(form, "A sum.")},
    ]


served = scripted(rules)


def test_a_deferred_tool_is_found_and_called_with_little_effort(proxied, claude, tmp_path):  # noqa: F811
    proxy = proxied()
    config = tmp_path / "mcp.json"
    server = {"command": sys.executable, "args": [str(HERE / "codex/many_tools.py")]}
    config.write_text(json.dumps({"mcpServers": {"many": server}}))
    switches = ["--mcp-config", str(config), "--strict-mcp-config", "--allowedTools", "mcp__many__add"]
    shown, _ = claude(proxy, "What is 2 and 3?", *switches, "--effort", "low")
    assert (shown[-1]["subtype"], shown[-1]["result"]) == ("success", "It is five.")
    assert all(exchange.status == 200 for exchange in proxy.exchanges), proxy.exchanges
    turns = [exchange.request for exchange in proxy.exchanges if exchange.request and exchange.request.get("tools")]
    assert {turn["thinking"]["type"] for turn in turns} == {"adaptive"}
    assert {turn["output_config"]["effort"] for turn in turns} == {"low"}
    declared = [sorted(tool["name"] for tool in turn["tools"] if tool["name"].startswith("mcp__")) for turn in turns]
    assert declared == [[], ["mcp__many__add"], ["mcp__many__add"]]
    called = blocks(turns[-1]["messages"], "tool_use")[-1]
    results = {block["tool_use_id"]: block for block in blocks(turns[-1]["messages"], "tool_result")}
    assert (called["name"], called["input"]) == ("mcp__many__add", {"a": 2, "b": 3})
    assert "The sum is 5." in json.dumps(results[called["id"]]["content"])
    # The thoughts come back with their signatures.
    assert all(block["signature"] for block in blocks(turns[-1]["messages"], "thinking"))

"""Libraries with many deferred tools, of which one is found and called; none costs prompt before."""
import json
import subprocess

import pytest
from conftest import HERE, UV
from turns import call, said, scripted

QUESTION = {"query": "add two numbers"}


def rules(form):
    found = {"tool_results": 1, "tool_declared": "add"}
    return [
        {"when": {"tool_results": 2, "contains": "The sum is 5."}, "text": said(form, "It is five.")},
        {"when": found, "text": call(form, "add", {"a": 2, "b": 3})},
        {"when": {"tool_results": 0, "tool_declared": "search_tools"}, "text": call(form, "search_tools", {"queries": ["add numbers"]})},
        {"when": {"tool_results": 0, "tool_declared": "tool_search"}, "text": call(form, "tool_search", QUESTION)},
    ]


served = scripted(rules)


@pytest.mark.parametrize("way", ["server", "client", "function"])
def test_a_deferred_tool_is_found_and_called(proxied, model, way):
    proxy = proxied()
    command = [UV, "run", "--quiet", "--no-project", "--script", HERE / "libraries/pydantic_ai_tools.py", proxy.address + "/v1", model]
    done = subprocess.run(command, input=way, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout) == {"text": "It is five.", "called": [[2, 3]]}
    assert {exchange.status for exchange in proxy.exchanges} == {200}

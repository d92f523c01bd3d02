"""Libraries with many deferred tools, of which one is found and called; none costs prompt before."""
import json
import subprocess

import pytest
from conftest import HERE, UV
from turns import call, said, scripted



def rules(form):
    def searches(way, name, arguments):
        return {"when": {"tool_results": 0, "contains": f"by the {way}"}, "text": call(form, name, arguments)}

    words = ["add numbers"]
    add = call(form, "add", {"a": 2, "b": 3})
    return [
        {"when": {"tool_results": 2, "contains": "The sum is 5."}, "text": said(form, "It is five.")},
        # A found tool's declaration stands in the search's result, or the library sends it as one of the request's.
        {"when": {"tool_results": 1, "contains": "Adds two numbers."}, "text": add},
        {"when": {"tool_results": 1, "tool_declared": "add"}, "text": add},
        searches("server", "tool_search", {"query": "add two numbers"}),
        searches("client", "tool_search", {"queries": words}),
        searches("function", "search_tools", {"queries": words}),
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

"""Mastra with memory: its second turn refers to items of the first by their ids, which the server has to have kept. In every format."""
import json
import subprocess

from conftest import HERE
from turns import call, said, scripted
from weather import ANSWER

LAST = "70 degrees."


def rules(form):
    asked, again = "What is the weather", "And in Fahrenheit?"
    return [
        {"when": {"last_user_contains": asked, "tool_results": 0}, "text": call(form, "get_weather", {"city": "Zürich"})},
        {"when": {"last_user_contains": asked, "contains": "21 degrees", "tool_results": 1}, "text": said(form, ANSWER)},
        {"when": {"last_user_contains": again, "tool_results": 1}, "text": said(form, LAST)},
    ]


served = scripted(rules)


def test_an_agent_with_memory_refers_to_items_of_earlier_turns(proxied, model):
    proxy = proxied()
    done = subprocess.run(["node", HERE / "mastra/client.mjs", proxy.address + "/v1", model], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {"calls": [{"city": "Zürich"}], "texts": [ANSWER, LAST]}
    assert [(exchange.path, exchange.status) for exchange in proxy.exchanges] == [("/v1/responses", 200)] * 3
    answered = [item["id"] for exchange in proxy.exchanges[:2] for item in json.loads(exchange.answer)["output"]]
    referred = [item["id"] for item in proxy.exchanges[2].request["input"] if item.get("type") == "item_reference"]
    assert len(referred) == 3 and set(referred) <= set(answered)

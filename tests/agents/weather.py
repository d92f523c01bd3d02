"""The conversation that every library's program has, and its checks: a question, one tool call, the result sent back, an answer."""
import json
import subprocess

ANSWER = "It is sunny in Zürich, 21 degrees."


def play(command, proxy, model, api):
    """Runs a program against the proxy, checks its report and its requests; returns the two exchanges."""
    arguments = [proxy.address + "/v1", model, api]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    assert report == {"calls": [{"city": "Zürich"}], "text": ANSWER}
    path = {"responses": "/v1/responses", "chat": "/v1/chat/completions"}[api]
    assert [(exchange.path, exchange.status) for exchange in proxy.exchanges] == [(path, 200)] * 2
    first, second = proxy.exchanges
    check_result(first, second, api)
    return first, second


def check_result(first, second, api):
    """Checks that the second request has the call with the id of the first answer, and its result."""
    if api == "responses":
        items = [event["item"] for event in first.events() if event["type"] == "response.output_item.done"]
        assert [item["type"] for item in items] == ["reasoning", "message", "function_call"]
        given = {item["call_id"] for item in items if item["type"] == "function_call"}
        calls = [item["call_id"] for item in second.request["input"] if item.get("type") == "function_call"]
        results = [item for item in second.request["input"] if item.get("type") == "function_call_output"]
        [(back, text)] = [(item["call_id"], item["output"]) for item in results]
    else:
        deltas = [choice["delta"] for chunk in first.events() for choice in chunk["choices"]]
        given = {call["id"] for delta in deltas for call in delta.get("tool_calls", []) if call.get("id")}
        messages = second.request["messages"]
        calls = [call["id"] for message in messages for call in message.get("tool_calls") or []]
        [(back, text)] = [(m["tool_call_id"], m["content"]) for m in messages if m["role"] == "tool"]
    assert [back] == calls == list(given)
    assert "21 degrees" in json.dumps(text)

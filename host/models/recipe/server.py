"""Outcomes of a running server over Chat Completions, which the evaluations count like those of transformers.

An outcome is a list of calls as (name, arguments), a text, or None for an answer in a form that wasn't taught.
"""
import concurrent.futures
import json
import urllib.request

from recipe.evaluation import LONGEST


class Server:
    """Returns outcomes for items (messages, tools, mode). `body_of` returns the fields of a request for a mode."""

    def __init__(self, address, body_of, thinks):
        self.url = f"{address}/v1/chat/completions"
        self.body_of, self.thinks = body_of, thinks
        with urllib.request.urlopen(f"{address}/v1/models") as answer:
            self.model = json.load(answer)["data"][0]["id"]

    def ask(self, item):
        messages, tools, mode = item
        body = {"model": self.model, "messages": messages, "temperature": 0, "max_tokens": LONGEST}
        body |= self.body_of(mode) | ({"tools": tools} if tools else {})
        request = urllib.request.Request(
            self.url, json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request) as answer:
            message = json.load(answer)["choices"][0]["message"]
        if bool(message.get("reasoning_content")) != self.thinks(mode):
            return None
        calls = [call["function"] for call in message.get("tool_calls") or []]
        if not calls:
            return message["content"]
        return None if message.get("content") else parsed((c["name"], c["arguments"]) for c in calls)

    def __call__(self, items):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            return list(pool.map(self.ask, map(as_request, items)))


def parsed(calls):
    """Returns an outcome of calls whose arguments are JSON text."""
    try:
        return [(name, json.loads(arguments)) for name, arguments in calls]
    except json.JSONDecodeError:
        return None


def as_request(item):
    """Returns the item as clients send it: arguments are text, calls and results have ids."""
    messages, tools, mode = item
    out, n, waiting = [], 0, []
    for message in json.loads(json.dumps(messages)):
        for made in message.get("tool_calls", []):
            n += 1
            made["id"] = f"call_{n}"
            made["function"]["arguments"] = json.dumps(made["function"]["arguments"], ensure_ascii=False)
            waiting.append(made["id"])
        if message["role"] == "tool":
            message["tool_call_id"] = waiting.pop(0)
        out.append(message)
    return out, [tool_declaration(tool) for tool in tools or []], mode


def tool_declaration(tool):
    """Returns the tool in the shape of Chat Completions, without null fields."""
    function = tool.get("function") or {k: v for k, v in tool.items() if k != "type"}
    return {"type": "function", "function": {k: v for k, v in function.items() if v is not None}}

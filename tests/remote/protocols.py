"""Sends streamed requests in each protocol, and folds each stream into values to compare: the items in order, why the answer ended, and
the numbers of tokens."""
import http.client
import json
import urllib.parse


class Refused(Exception):
    """The server answered with another status than 200."""


def open_stream(server, path, body):
    """-> (connection, response), whose body isn't read yet"""
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(server).netloc, timeout=300)
    headers = {"content-type": "application/json", "anthropic-version": "2023-06-01"}
    connection.request("POST", path, json.dumps({**body, "stream": True}), headers)
    response = connection.getresponse()
    if response.status != 200:
        raise Refused(f"{response.status} {response.read().decode()}")
    return connection, response


def events(server, path, body):
    connection, response = open_stream(server, path, body)
    lines = [line[6:] for line in response.read().decode().splitlines() if line.startswith("data: ")]
    connection.close()
    return [json.loads(line) for line in lines if line != "[DONE]"]


def responses(server, body):
    stream = events(server, "/v1/responses", body)
    last = stream[-1]
    assert last["type"] in ("response.completed", "response.incomplete"), last
    answer = last["response"]
    deltas = "".join(event["delta"] for event in stream if event["type"] == "response.output_text.delta")
    items = []
    for item in answer["output"]:
        kind = item["type"]
        if kind == "message":
            items.append(("message", "".join(part["text"] for part in item["content"])))
        elif kind == "reasoning":
            items.append(("reasoning", "".join(part["text"] for part in item.get("content") or item["summary"])))
        elif kind == "function_call":
            items.append(("call", item["name"], item["arguments"]))
        else:
            items.append((kind, item.get("name"), item.get("input")))
    assert deltas == "".join(item[1] for item in items if item[0] == "message"), "deltas are not the message"
    usage = answer["usage"]
    return {"items": items, "end": answer["status"], "tokens": (usage["input_tokens"], usage["output_tokens"]),
            "reasoning": usage["output_tokens_details"]["reasoning_tokens"]}


class Choice:
    """One choice of a Chat answer."""

    def __init__(self):
        self.text, self.thoughts, self.calls, self.end, self.ids = "", "", {}, None, None
        self.likely = []  # (text, log-probability) of each token of the message

    def take(self, choice):
        delta = choice["delta"]
        self.text += delta.get("content") or ""
        self.thoughts += delta.get("reasoning_content") or delta.get("reasoning") or ""
        for call in delta.get("tool_calls") or []:
            kept = self.calls.setdefault(call["index"], ["", ""])
            kept[0] += call["function"].get("name") or ""
            kept[1] += call["function"].get("arguments") or ""
        self.end = choice["finish_reason"] or self.end
        self.ids = choice.get("token_ids") or self.ids
        known = (choice.get("logprobs") or {}).get("content") or []
        self.likely += [(token["token"], token["logprob"]) for token in known]

    def items(self):
        calls = (("call", *call) for call in self.calls.values())
        return [("reasoning", self.thoughts), ("message", self.text), *calls]


def chat(server, body):
    """Returns the items of the first choice in `items`, and those of the other choices in `others`."""
    stream = events(server, "/v1/chat/completions", {**body, "stream_options": {"include_usage": True}, "return_token_ids": True})
    choices, usage = {}, None
    for event in stream:
        assert "error" not in event, event
        usage = event.get("usage") or usage
        for choice in event["choices"]:
            choices.setdefault(choice["index"], Choice()).take(choice)
    first = choices.pop(0)
    return {"items": first.items(), "end": first.end, "ids": first.ids, "likely": first.likely,
            "others": {index: choice.items() for index, choice in choices.items()},
            "tokens": (usage["prompt_tokens"], usage["completion_tokens"])}


def completions(server, body):
    texts, ends = {}, {}
    for event in events(server, "/v1/completions", body):
        assert "error" not in event, event
        for choice in event["choices"]:
            index = choice["index"]
            texts[index] = texts.get(index, "") + choice["text"]
            ends[index] = choice["finish_reason"] or ends.get(index)
    return {"texts": texts, "ends": ends}


def messages(server, body):
    blocks, end, usage = {}, None, {}
    for event in events(server, "/v1/messages", body):
        kind = event["type"]
        assert kind != "error", event
        if kind == "message_start":
            usage |= event["message"]["usage"]
        elif kind == "content_block_start":
            block = event["content_block"]
            blocks[event["index"]] = [block["type"], block.get("name", ""), ""]
        elif kind == "content_block_delta":
            delta = event["delta"]
            blocks[event["index"]][2] += delta.get("text") or delta.get("thinking") or delta.get("partial_json") or ""
        elif kind == "message_delta":
            end, usage = event["delta"]["stop_reason"], usage | event["usage"]
    # Cached tokens are counted separately, and their number differs from engine to engine.
    read = usage["input_tokens"] + (usage.get("cache_read_input_tokens") or 0) + (usage.get("cache_creation_input_tokens") or 0)
    return {"items": [tuple(block) for block in blocks.values()], "end": end, "tokens": (read, usage["output_tokens"])}

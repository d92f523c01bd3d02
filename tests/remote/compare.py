"""Compares answers of a server whose engine is remote with those of a server with the CPU engine, under greedy decoding.

    python compare.py LOCAL REMOTE UPSTREAM [PROCESS]      three addresses: both servers, and the engine of the second server; with the engine's
                                                           process id it is stopped for a while, too

Prints a line for each case; exits with status 1 if one failed.
"""
import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import prompts
import protocols

AGENTS = pathlib.Path(__file__).parent / "../../host/api/src/testdata/agents"
RUNNING = re.compile(r"^(?:vllm:num_requests_running|sglang:num_running_reqs|llamacpp:requests_processing)(?:\{.*\})? (\S+)$", re.M)
DEADLINE = 20  # seconds for a gauge
STOPPED = 40  # seconds, longer than --engine-token-seconds
BUSY = 15  # seconds of streams, in which several health checks may be missed
LIKELY = 1e-3  # allowed difference of log-probabilities, since every engine sums in another order


def equal(local, remote):
    """Returns the differences as text; empty if there are none."""
    keys = local.keys() | remote.keys()
    differ = (key for key in sorted(keys) if not same(key, local.get(key), remote.get(key)))
    return "; ".join(f"{key}: {local.get(key)!r} is {remote.get(key)!r}" for key in differ)


def same(key, local, remote):
    """Returns whether both answers agree in this key; log-probabilities may differ by rounding."""
    if key != "likely" or local == remote:
        return local == remote
    return [text for text, _ in local] == [text for text, _ in remote] and all(
        abs(one - other) <= LIKELY for (_, one), (_, other) in zip(local, remote))


def both(ask, body):
    def case(servers):
        return equal(ask(servers.local, body), ask(servers.remote, body))
    return case


def second_turn(servers):
    first = protocols.chat(servers.local, prompts.chat("What is the weather in Paris and in São Paulo?", True))
    return both(protocols.chat, prompts.chat_with_results(first))(servers)


def agent(name):
    recorded = json.loads((AGENTS / f"{name}.json").read_text())["body"]
    return {**recorded, "model": "qwen3-tiny", "temperature": 0, "max_output_tokens": 200, "include": []}


def running(upstream):
    """Returns the number of requests that the engine computes now."""
    return float(RUNNING.search(urllib.request.urlopen(f"{upstream}/metrics").read().decode())[1])


def wait_for(upstream, is_there):
    ends = time.monotonic() + DEADLINE
    while time.monotonic() < ends:
        if is_there(running(upstream)):
            return True
        time.sleep(0.05)
    return False


def cancel(servers):
    """The client closes a stream that wouldn't end by itself."""
    body = {**prompts.chat("Hello!", False), "max_tokens": 30000, "logit_bias": {"704": -100, "706": -100}}
    connection, response = protocols.open_stream(servers.remote, "/v1/chat/completions", body)
    response.read1(100)
    if not wait_for(servers.upstream, lambda count: count > 0):
        return "the engine never computed it"
    response.close()
    connection.close()
    return "" if wait_for(servers.upstream, lambda count: count == 0) else "the engine still computes it"


def schema(ask, body, text_of):
    def case(servers):
        text = text_of(ask(servers.remote, body))
        try:
            person = json.loads(text)
        except ValueError:
            return f"no JSON: {text!r}"
        fits = set(person) == {"name", "is_adult"} and isinstance(person["name"], str) and isinstance(person["is_adult"], bool)
        return "" if fits else f"not of the schema: {text!r}"
    return case


def penalties(servers):
    body = prompts.chat("Who are you?", False) | prompts.PENALTIES
    try:
        return both(protocols.chat, body)(servers)
    except protocols.Refused as refused:
        return "" if "_penalty: the engine (llama.cpp" in str(refused) else str(refused)


def forced(servers):
    """The call is forced, or refused by name: llama.cpp can't follow such grammars."""
    try:
        answer = protocols.chat(servers.remote, {**prompts.chat("Hello!", True), "tool_choice": "required"})
    except protocols.Refused as refused:
        return "" if "tool_choice: the engine" in str(refused) and "llama.cpp" in str(refused) else str(refused)
    calls = [item for item in answer["items"] if item[0] == "call"]
    return "" if calls and all("city" in json.loads(call[2]) or "expression" in json.loads(call[2]) for call in calls) else f"no call: {answer}"


def limits(servers):
    """Numbers of tokens at each limit, some of which end inside a character of several tokens."""
    differ = []
    for most in range(1, 40):
        body = {**prompts.chat("What is the weather in São Paulo?", True), "max_tokens": most}
        local, remote = protocols.chat(servers.local, body), protocols.chat(servers.remote, body)
        if (local["tokens"], local["end"]) != (remote["tokens"], remote["end"]):
            differ.append(f"{most}: {local['tokens']} {local['end']} is {remote['tokens']} {remote['end']}")
    return "; ".join(differ)


def weak(keyword, schema, holds):
    """A schema is followed, or refused by the keyword: it never becomes weaker."""
    whole = {"type": "object", "properties": {"it": schema}, "required": ["it"], "additionalProperties": False}
    named = {"type": "json_schema", "json_schema": {"name": "it", "schema": whole, "strict": True}}
    body = {**prompts.chat("Describe it.", False), **prompts.COMPACT, "response_format": named, "max_tokens": 60}

    def case(servers):
        try:
            answer = protocols.chat(servers.remote, body)
        except protocols.Refused as refused:
            return "" if keyword in str(refused) else str(refused)
        text = message(answer)
        try:
            return "" if holds(json.loads(text)["it"]) else f"weaker: {text!r}"
        except ValueError:
            return "" if answer["end"] == "length" else f"no JSON: {text!r}"
    return case


class Stream(threading.Thread):
    """A stream that is read until its connection is shut down."""

    def __init__(self, server, body):
        super().__init__(daemon=True)
        self.connection = http.client.HTTPConnection(urllib.parse.urlsplit(server).netloc, timeout=300)
        self.connection.connect()
        self.socket, self.body = self.connection.sock, json.dumps({**body, "stream": True})
        self.start()

    def run(self):
        with contextlib.suppress(OSError, http.client.HTTPException):
            self.connection.request("POST", "/v1/chat/completions", self.body, {"content-type": "application/json"})
            self.connection.getresponse().read()

    def stop(self):
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)


def busy(servers):
    """An engine that is busy for longer than a health check takes stays in use."""
    body = {**prompts.chat("Hello!", False), "max_tokens": 30000, "logit_bias": {"704": -100, "706": -100}}
    streams = [Stream(servers.remote, body) for _ in range(24)]
    ends, statuses = time.monotonic() + BUSY, set()
    while time.monotonic() < ends:
        try:
            statuses.add(urllib.request.urlopen(f"{servers.remote}/health").status)
        except urllib.error.HTTPError as error:
            statuses.add(error.code)
        time.sleep(0.2)
    for stream in streams:
        stream.stop()
    return "" if statuses == {200} else f"/health answered {statuses}"


def stopped(servers):
    """An engine that is stopped behind its first token fails the answer, once no token has come for the time that the server allows."""
    body = {**prompts.chat("Hello!", False), "max_tokens": 30000, "logit_bias": {"704": -100, "706": -100}}
    connection, response = protocols.open_stream(servers.remote, "/v1/chat/completions", body)
    response.read1(100)
    os.kill(servers.process, signal.SIGSTOP)
    goes_on = threading.Timer(STOPPED, os.kill, [servers.process, signal.SIGCONT])
    goes_on.start()
    text = response.read().decode()
    still_stopped = goes_on.is_alive()
    goes_on.join()
    connection.close()
    return "" if still_stopped and '"server_error"' in text else "the answer went on after the engine did"


def message(answer):
    return "".join(item[1] for item in answer["items"] if item[0] == "message")


def cases(has_process=False):
    for what, said, with_tools in prompts.SAID:
        for name in ("responses", "chat", "messages"):
            yield f"{name}: {what}", both(getattr(protocols, name), getattr(prompts, name)(said, with_tools))
    yield "chat: results are sent back", second_turn
    for name in ("codex-shell", "codex-again", "codex-patch"):
        yield f"responses: {name} of a real Codex", both(protocols.responses, agent(name))
    for what, more in prompts.SETTINGS.items():
        yield f"chat: {what}", both(protocols.chat, prompts.chat("Who are you?", False) | more)
    yield "chat: penalties, or their refusal by name", penalties
    for what, body in prompts.TEXTS.items():
        yield f"completions: {what}", both(protocols.completions, {"model": "qwen3-tiny", "temperature": 0, "max_tokens": 20, **body})
    seeded = {**prompts.chat("Who are you?", False), "temperature": 1.5, "seed": 11}
    yield "chat: a seed is honoured", lambda servers: equal(protocols.chat(servers.remote, seeded), protocols.chat(servers.remote, seeded))
    compact = prompts.COMPACT
    named = {"name": "person", "schema": prompts.PERSON, "strict": True}
    yield "chat: JSON schema", schema(protocols.chat, {
        **prompts.chat("Describe a person.", False), **compact, "response_format": {"type": "json_schema", "json_schema": named}}, message)
    yield "responses: JSON schema", schema(protocols.responses, {
        **prompts.responses("Describe a person.", False), **compact, "text": {"format": {"type": "json_schema", **named}}}, message)
    yield "chat: a forced call, or its refusal by name", forced
    for keyword, (follows, holds) in prompts.WEAK.items():
        yield f"chat: {keyword} is followed or refused", weak(keyword, follows, holds)
    yield "chat: tokens at every limit", limits
    yield "a busy engine stays in use", busy
    yield "a client that leaves stops the engine", cancel
    if has_process:
        yield "a stopped engine fails its answer", stopped


class Servers:
    def __init__(self, local, remote, upstream, process=None):
        self.local, self.remote, self.upstream, self.process = local, remote, upstream, process and int(process)


def main():
    servers, failed = Servers(*sys.argv[1:]), 0
    for name, case in cases(servers.process is not None):
        try:
            wrong = case(servers)
        except (protocols.Refused, AssertionError, KeyError, TypeError, OSError) as error:
            wrong = f"{type(error).__name__}: {error}"
        failed += bool(wrong)
        print(f"{'FAILED' if wrong else 'ok    '} {name}{': ' + wrong[:600] if wrong else ''}", flush=True)
    print(f"{failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()

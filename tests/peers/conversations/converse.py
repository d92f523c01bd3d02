"""Holds conversations with our server and with llama.cpp's, and prints what each computes of a turn's prompt.

    python converse.py HOST LLAMA_SERVER MODEL.gguf [TURNS]

A turn's own tokens are those of its prompt that nothing before it has: the new message, and the last answer as the template writes it in a history.
The exit status is 1 if our server computed more than these and a margin in any turn: its snapshots lie behind whole blocks, before a prompt's last
tokens. llama.cpp's figures are beside them for comparison. What is held:

- `thinking`, `plain`: an append-only chat; the template takes thoughts from the history. `stored`: the same by `previous_response_id` (ours only).
- `tools`: a question, 6 calls with results, whose thoughts are kept until the next question, then that question, and so on.
- `edited`: each message is sent, then sent anew with another end; the last answer counts among its own tokens, too.
- `crowd`: 6 chats in turn, behind all the others, whose snapshots must make room.
- `throng`: 12 chats in turn, more than our snapshots. Of the rounds from the third on, two thirds of the turns at least must compute no more than their
  own tokens: chats that take turns don't take each other's snapshots. llama.cpp keeps as many as its host memory holds (8 GiB).

At the end: the memory that each program has taken at most, beyond what it took before the first conversation.
"""
import json
import pathlib
import sys
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "gguf"))
from servers import free_port, post, serving

# Tokens before a prompt's end that its snapshot leaves out, and those of a block that isn't whole.
MARGIN = 8 + 15
CALLS = 6
CROWD, THRONG, ROUNDS = 6, 12, 5
# Rounds of a throng in which chats that nobody goes on with any more make room.
SETTLING = 2
SYSTEM = "You are a careful assistant who answers at length. " * 12


class Server:
    """A server, and what it has been asked and has answered."""

    def __init__(self, name, port, model):
        self.name, self.port, self.model = name, port, model

    def ask(self, path, body):
        """Streams an answer. Returns (seconds to the first event with text, events)."""
        body = {"model": self.model, "temperature": 0, "stream": True, **body}
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        begin, first, events = time.monotonic(), None, []
        with urllib.request.urlopen(request, timeout=600) as answer:
            for line in answer:
                if not line.startswith(b"data: {"):
                    continue
                event = json.loads(line[6:])
                events.append(event)
                deltas = [choice["delta"] for choice in event.get("choices", [])]
                said = any(delta.get("content") or delta.get("reasoning_content") or delta.get("reasoning") for delta in deltas)
                if first is None and (said or event.get("delta")):
                    first = time.monotonic() - begin
        return first or time.monotonic() - begin, events

    def chat(self, messages, thinking):
        """Returns (content, prompt tokens, cached ones, seconds to the first token)."""
        body = {"messages": messages, "max_tokens": 200, "stream_options": {"include_usage": True}}
        body["chat_template_kwargs"] = {"enable_thinking": thinking}
        first, events = self.ask("/v1/chat/completions", body)
        deltas = [choice["delta"] for event in events for choice in event.get("choices", [])]
        content = "".join(delta.get("content") or "" for delta in deltas)
        usage = next(event["usage"] for event in events if event.get("usage"))
        return content, usage["prompt_tokens"], usage["prompt_tokens_details"]["cached_tokens"], first


def prompt_of(ours, messages, thinking):
    """The tokens of a prompt."""
    body = {"model": ours.model, "messages": messages, "add_generation_prompt": True, "chat_template_kwargs": {"enable_thinking": thinking}}
    return post(ours.port, "/tokenize", body)["tokens"]


def own_tokens(prompt, before):
    """Number of a prompt's tokens behind the longest beginning that it shares with one before."""
    shared = 0
    for other in before:
        same = next((at for at, (a, b) in enumerate(zip(prompt, other)) if a != b), min(len(prompt), len(other)))
        shared = max(shared, same)
    return len(prompt) - shared


def question(turn):
    return f"Question {turn}: what do you make of case {turn * 37 % 101}? " + "Say what you know, step by step. " * (1 + turn % 3)


class Table:
    """Prints the turns of a scenario, and remembers what was computed beyond a turn's own tokens."""

    def __init__(self, name, servers):
        self.beyond, self.sums = [], [0] * len(servers)
        print(f"\n{name}\n{'turn':>5}{'prompt':>8}{'own':>6}   " + "   ".join(f"{one.name:>7}: cached computed first" for one in servers))

    def row(self, turn, prompt, own, figures):
        cells = []
        for at, (total, cached, first) in enumerate(figures):
            self.sums[at] += total - cached
            cells.append(f"{'':>7}  {cached:>6} {total - cached:>8} {first * 1000:>4.0f}m")
        total, cached, _ = figures[0]
        self.beyond.append(total - cached - own)
        print(f"{turn:>5}{prompt:>8}{own:>6}   " + "   ".join(cells), flush=True)

    def end(self, settling=0, lost=0):
        """Whether, behind the first `settling` turns, no more than a share `lost` of ours computed more than their own tokens and the margin."""
        judged = self.beyond[settling:]
        more = sum(one > MARGIN for one in judged)
        print(f"computed in all: {', '.join(map(str, self.sums))}; ours beyond a turn's own tokens: at most {max(self.beyond)} (margin {MARGIN});"
              f" {more} of the {len(judged)} judged turns computed more")
        return more <= lost * len(judged)


def held(table, servers, before, turn, messages, thinking, edit=False):
    """Asks both servers, prints the turn, returns the content of our answer. An edit's own tokens are those that no turn before has."""
    prompt = prompt_of(servers[0], messages, thinking)
    answers = [one.chat(messages, thinking) for one in servers]
    own = own_tokens(prompt, before[:-1] if edit else before)
    before.append(prompt)
    table.row(turn, len(prompt), own, [answer[1:] for answer in answers])
    return answers[0][0]


def chat(name, servers, turns, thinking):
    table, before = Table(name, servers), []
    messages = [{"role": "system", "content": f"{SYSTEM}({name})"}]
    for turn in range(1, turns + 1):
        messages.append({"role": "user", "content": question(turn)})
        messages.append({"role": "assistant", "content": held(table, servers, before, turn, messages, thinking)})
    return table.end()


def stored(ours, turns):
    table, before, previous = Table("stored", [ours]), [], {}
    messages = [{"role": "system", "content": f"{SYSTEM}(stored)"}]
    for turn in range(1, turns + 1):
        messages.append({"role": "user", "content": question(turn)})
        prompt = prompt_of(ours, messages, True)
        new = messages if turn == 1 else messages[-1:]
        first, events = ours.ask("/v1/responses", {"input": new, "max_output_tokens": 200, **previous})
        response = next(event["response"] for event in events if event["type"] == "response.completed")
        texts = [part["text"] for item in response["output"] if item["type"] == "message" for part in item["content"]]
        previous, usage = {"previous_response_id": response["id"]}, response["usage"]
        own = own_tokens(prompt, before)
        before.append(prompt)
        table.row(turn, len(prompt), own, [(usage["input_tokens"], usage["input_tokens_details"]["cached_tokens"], first)])
        messages.append({"role": "assistant", "content": "".join(texts)})
    return table.end()


def tools(servers, turns):
    table, before = Table("tools", servers), []
    messages = [{"role": "system", "content": f"{SYSTEM}(tools)"}]
    for turn in range(1, turns // CALLS + 2):
        messages.append({"role": "user", "content": question(turn)})
        for call in range(CALLS):
            held(table, servers, before, f"{turn}.{call}", messages, True)
            function = {"name": "look", "arguments": json.dumps({"path": f"/case/{turn}/{call}"})}
            called = {"id": f"call{turn}{call}", "type": "function", "function": function}
            thought = "I should look at the next file, since the last one said little. " * 3
            messages.append({"role": "assistant", "content": "", "reasoning_content": thought, "tool_calls": [called]})
            messages.append({"role": "tool", "tool_call_id": called["id"], "content": f"Line {call} of case {turn}. " * 12})
        messages.append({"role": "assistant", "content": held(table, servers, before, f"{turn}.{CALLS}", messages, True)})
    return table.end()


def edited(servers, turns):
    table, before = Table("edited", servers), []
    messages = [{"role": "system", "content": f"{SYSTEM}(edited)"}]
    for turn in range(1, turns // 2 + 1):
        for end in ["", "No, wait: another case."]:
            asked = messages + [{"role": "user", "content": question(turn) + end}]
            content = held(table, servers, before, f"{turn}{'e' if end else ''}", asked, True, bool(end))
        messages = asked + [{"role": "assistant", "content": content}]
    return table.end()


def crowd(name, servers, count, settling=0, lost=0):
    table = Table(name, servers)
    chats = [([{"role": "system", "content": f"{SYSTEM}({name}, chat {one})"}], []) for one in range(count)]
    for turn in range(1, ROUNDS + 1):
        for one, (messages, before) in enumerate(chats):
            messages.append({"role": "user", "content": question(turn)})
            messages.append({"role": "assistant", "content": held(table, servers, before, f"{one}.{turn}", messages, True)})
    return table.end(settling * count, lost)


def most_memory(process):
    """The most memory that a process has taken so far, in MiB."""
    status = pathlib.Path(f"/proc/{process}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) // 1024


def main(host, llama, model, turns=20):
    turns = int(turns)
    ports = [free_port(), free_port()]
    our_command = [host, "serve", "--model", model, "--store", "memory", "--listen", f"127.0.0.1:{ports[0]}", "--device", "cpu",
                   "--context", "16384", "--kv-cache", "256"]
    their_command = [llama, "-m", model, "--port", str(ports[1]), "-c", "16384", "--jinja"]
    with serving(our_command, ports[0]) as ours, serving(their_command, ports[1]) as theirs:
        at_first = [most_memory(ours), most_memory(theirs)]
        name = pathlib.Path(model).stem
        servers = [Server("ours", ports[0], name), Server("llama", ports[1], name)]
        good = [
            chat("thinking", servers, turns, True),
            chat("plain", servers, turns, False),
            stored(servers[0], turns),
            tools(servers, turns),
            edited(servers, turns),
            crowd("crowd", servers, CROWD),
            crowd("throng", servers, THRONG, SETTLING, 1 / 3),
        ]
        taken = [most_memory(process) - first for process, first in zip([ours, theirs], at_first)]
        print(f"\nmemory taken by conversations, in MiB: {taken[0]} (ours), {taken[1]} (llama.cpp)")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

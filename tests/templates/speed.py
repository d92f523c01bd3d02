"""What transformers' own rendering costs: CPU time in µs per KB of conversation, with the conversations of tests/benches/prompts.rs.

`speed.py TEMPLATE.jinja…` prints a row for each template. The template is compiled before, and tokenising isn't counted; a server's prompt
takes two such renderings.
"""
import json
import pathlib
import sys
import time

from reference import Reference, calls_of, seen

SIZES = [1, 10, 100, 250, 1000]
RUNS = 5
SENTENCE = "The forecast for the coast says rain until noon, then a light wind from the west. "
TOOL = {"type": "function", "function": {"name": "get_weather", "description": "Tells the weather.", "parameters": {
    "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}


def session(count, has_calls):
    """Messages of an agent's session, or plain turns."""
    messages = []
    for index in range(count):
        text = f"{index}: {SENTENCE * (1 + index % 5)}"
        ident = f"call{index // 4:05}"
        if has_calls and index % 4 == 1:
            function = {"name": "get_weather", "arguments": {"city": "Riga"}}
            messages.append({"role": "assistant", "content": "", "tool_calls": [{"type": "function", "id": ident, "function": function}]})
        elif has_calls and index % 4 == 2:
            messages.append({"role": "tool", "content": text, "tool_call_id": ident, "name": "get_weather"})
        else:
            messages.append({"role": "assistant" if index % 2 else "user", "content": text})
    return {"messages": messages, "tools": [TOOL] if has_calls else None, "add_generation_prompt": True}


def kilobytes(given):
    """Size of a conversation's texts and calls."""
    functions = [call["function"] for call in calls_of(given["messages"])]
    calls = sum(len(function["name"]) + len(json.dumps(function["arguments"])) for function in functions)
    return (calls + sum(len(message["content"]) for message in given["messages"])) / 1024


def least(reference, template, given):
    """Returns the least time of several runs in µs, or None if the template refuses the conversation."""
    times = []
    for _ in range(RUNS):
        began = time.thread_time()
        output = reference.render(template, given)
        times.append(time.thread_time() - began)
        if isinstance(output, Exception):
            return None
    return min(times) * 1e6


def main():
    reference = Reference()
    print(f"{'template':44}{'shape':>8}" + "".join(f"{size:>13}" for size in SIZES))
    for path in map(pathlib.Path, sys.argv[1:]):
        index = path.parent / "index.json"
        special = json.loads(index.read_text()).get(path.stem) if index.exists() else None
        special = special or {"bos_token": "<|endoftext|>", "eos_token": "<|im_end|>"}
        template = path.read_text()
        given = lambda size, calls: seen({**session(size, calls), **special})
        has_calls = not isinstance(reference.render(template, given(12, True)), Exception)
        cells = []
        for size in SIZES:
            talk = given(size, has_calls and size > 1)
            taken = least(reference, template, talk)
            cells.append("-" if taken is None else f"{taken / kilobytes(talk):.1f}")
        print(f"{path.stem:44}{'calls' if has_calls else 'plain':>8}" + "".join(f"{cell:>13}" for cell in cells))


if __name__ == "__main__":
    main()

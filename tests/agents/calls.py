#!/usr/bin/env python3
"""Counts what calls of plain tools (not strict, `tool_choice: auto`) come out as, with and without the envelope.

    tests/agents/calls.py [--prompts 500] [--temperature 1.0 1.6] [--tools 2 40] [--width 1 4 16 64] [--serve "--model FILE"]

Starts the server twice on the embedded model, or on the model given, with `--tool-calls free` and with the default, asks both the same prompts with
the same seeds, and prints a row for each: calls, names that aren't declared, arguments that are no JSON object, answers that aren't completed,
statuses from 500 on, answers without a call, tokens a second, and masks that were late.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

HOST = os.environ.get("SLUICE_HOST", "target/release/host")
SUBJECTS = ["Oslo", "Paris", "New York", "Quito", "a file named notes.txt", "2 + 2", "my unread mail", "the news", "a poem", "the year 1905"]
QUESTIONS = [
    "What is the weather in {}?",
    "Tell me about {}.",
    "Look up {} and say what you find.",
    "Please read {}.",
    "Is it raining? I am thinking of {}.",
    "Write <tool_call> in a sentence about {}.",
]
NAMES = ["get_weather", "read_file", "search_web", "send_mail", "list_events", "run_command", "get_time", "translate"]


def tool(number):
    """A tool of a kind that agents declare; every second one is closed."""
    name = NAMES[number % len(NAMES)] + (f"_{number}" if number >= len(NAMES) else "")
    keys = {"city": {"type": "string"}, "days": {"type": "integer"}, "path": {"type": "string"}}
    schema = {"type": "object", "properties": dict(list(keys.items())[: 1 + number % 3])}
    if number % 2:
        schema["additionalProperties"] = False
    description = f"{name.replace('_', ' ').capitalize()}."
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


def ask(url, number, temperature, tools):
    prompt = QUESTIONS[number % len(QUESTIONS)].format(SUBJECTS[number // len(QUESTIONS) % len(SUBJECTS)])
    body = {
        "model": "m",
        "seed": number,
        "temperature": temperature,
        "max_completion_tokens": 200,
        "messages": [{"role": "user", "content": prompt}],
        "tools": [tool(at) for at in range(tools)],
    }
    request = urllib.request.Request(
        f"{url}/v1/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=600) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def is_object(text):
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def count(url, prompts, temperature, tools, width):
    declared = {tool(at)["function"]["name"] for at in range(tools)}
    began = time.monotonic()
    with ThreadPoolExecutor(width) as pool:
        answers = list(pool.map(lambda number: ask(url, number, temperature, tools), range(prompts)))
    took = time.monotonic() - began
    row = dict.fromkeys(["calls", "undeclared", "no object", "cut off", "errors", "texts"], 0)
    tokens = 0
    for status, answer in answers:
        if status != 200:
            row["errors"] += 1
            continue
        tokens += answer["usage"]["completion_tokens"]
        choice = answer["choices"][0]
        is_cut = choice["finish_reason"] == "length"
        row["cut off"] += is_cut
        calls = choice["message"].get("tool_calls") or []
        row["texts"] += not calls
        row["calls"] += len(calls)
        for at, call in enumerate(calls):
            row["undeclared"] += call["function"]["name"] not in declared
            # What the token limit has cut isn't malformed.
            is_last = is_cut and at == len(calls) - 1
            row["no object"] += not is_last and not is_object(call["function"]["arguments"])
    return row, tokens / took


def late_masks(url):
    with urllib.request.urlopen(f"{url}/metrics") as metrics:
        lines = metrics.read().decode().splitlines()
    return int(sum(float(line.split()[-1]) for line in lines if line.startswith("sluice_late_masks_total")))


def serve(switches, port):
    command = [HOST, "serve", "--listen", f"127.0.0.1:{port}", "--served-model-name", "m", "--store", "none", *switches]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    while server.poll() is None:
        try:
            urllib.request.urlopen(f"{url}/health").close()
            return server, url
        except OSError:
            time.sleep(0.1)
    sys.exit(f"the server ended with {server.returncode}: {' '.join(command)}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--prompts", type=int, default=500)
    parser.add_argument("--temperature", type=float, nargs="+", default=[1.0, 1.6])
    parser.add_argument("--tools", type=int, nargs="+", default=[2, 40])
    parser.add_argument("--width", type=int, nargs="+", default=[16], help="requests at a time")
    parser.add_argument("--port", type=int, default=8431)
    parser.add_argument("--serve", default="", help="further switches of the server, e.g. --model FILE")
    parser.add_argument("--least-calls", type=int, default=0, help="calls that each row with the envelope must have, so that something was held")
    arguments = parser.parse_args()
    is_held = True
    print(f"{'tools':>5} {'temp.':>5} {'width':>5} {'form':>9} {'calls':>6} {'undeclared':>10} {'no object':>9} {'cut off':>8} {'errors':>6} {'texts':>6} {'tokens/s':>9} {'late':>6}")
    for at, form in enumerate(["free", "envelope"]):
        server, url = serve([*arguments.serve.split(), "--tool-calls", form], arguments.port + at)
        try:
            for tools, temperature, width in itertools.product(arguments.tools, arguments.temperature, arguments.width):
                before = late_masks(url)
                row, speed = count(url, arguments.prompts, temperature, tools, width)
                values, late = list(row.values()), late_masks(url) - before
                print(f"{tools:>5} {temperature:>5} {width:>5} {form:>9} {values[0]:>6} {values[1]:>10} {values[2]:>9} {values[3]:>8} {values[4]:>6} {values[5]:>6} {speed:>9.1f} {late:>6}", flush=True)
                is_clean = row["undeclared"] + row["no object"] + row["errors"] == 0
                is_held &= form == "free" or (is_clean and row["calls"] >= arguments.least_calls)
        finally:
            server.terminate()
            server.wait()
    sys.exit(0 if is_held else 1)


if __name__ == "__main__":
    main()

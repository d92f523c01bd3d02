"""Shared code of the tests of tool servers: starts one behind a URL, writes an output that calls a tool, sends a request that may use it."""
import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
EVERYTHING = str(HERE.parent / "node/node_modules/@modelcontextprotocol/server-everything/dist/index.js")


def call(name, arguments):
    return f'<think>\nA tool.\n</think>\n\n<tool_call>\n{json.dumps({"name": name, "arguments": arguments})}\n</tool_call>'


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextlib.contextmanager
def listening(command):
    """Runs `command(port)`, with the port also in its environment, waits until it listens there, and ends it after the block."""
    port = free_port()
    process = subprocess.Popen(command(port), env={**os.environ, "PORT": str(port)}, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                assert process.poll() is None, "the tool server ended"
                time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait(10)


def adder(transport, *certificate):
    """Runs the reference server of Python over this transport."""
    return listening(lambda port: [sys.executable, str(HERE / "adder.py"), transport, str(port), *certificate])


def ask(client, label, text, **options):
    tools = [{"type": "mcp", "server_label": label, **options}]
    with client.responses.stream(model="qwen3-tiny", input=text, tools=tools) as stream:
        kinds = [event.type for event in stream]
        return kinds, stream.get_final_response()

"""The README's examples, unchanged but for the address, against a default server."""
import json
import os
import re
import subprocess
import sys

from server import HOST, ROOT
from tool_servers import free_port

README = (ROOT / "README.md").read_text()
DEFAULT = "http://127.0.0.1:8000"


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.S)


def run(command, text, server):
    assert DEFAULT in text
    return subprocess.run([*command, text.replace(DEFAULT, server.address)], capture_output=True, text=True, check=True).stdout


def test_the_two_curl_examples_stream_reasoning_then_a_call_then_text(embedded):
    curls = [block for block in blocks("sh") if block.startswith("curl")]
    assert len(curls) == 2
    outputs = []
    for curl in curls:
        lines = run(["bash", "-c"], curl, embedded).splitlines()
        last = [line for line in lines if line.startswith("data: {")][-1]
        outputs.append(json.loads(last.removeprefix("data: "))["response"]["output"])
    assert [[item["type"] for item in output] for output in outputs] == [["reasoning", "function_call"], ["reasoning", "message"]]
    assert json.loads(outputs[0][1]["arguments"]) == {"city": "Helsinki"}
    assert "sunny" in outputs[1][1]["content"][0]["text"]


def test_the_python_example_runs(embedded):
    (example,) = blocks("python")
    output = run([sys.executable, "-c"], example, embedded).splitlines()
    assert "response.completed" in output and len(output[-1]) > 10


def test_the_demonstration_of_tools_calls_the_reference_servers():
    (demo,) = [block.strip() for block in blocks("sh") if "tools-demo.sh" in block]
    env = {**os.environ, "SLUICE_HOST": HOST, "SLUICE_ADDRESS": f"127.0.0.1:{free_port()}"}
    shown = subprocess.run(["bash", "-c", demo], cwd=ROOT, env=env, capture_output=True, text=True, check=True, timeout=300).stdout
    last = [line for line in shown.splitlines() if line.startswith("data: {")][-1]
    response = json.loads(last.removeprefix("data: "))["response"]
    assert response["status"] == "completed"
    time, total = [item["output"] for item in response["output"] if item["type"] == "mcp_call"]
    assert json.loads(time)["timezone"] == "Asia/Tokyo" and "42" in total

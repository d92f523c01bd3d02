"""Tools whose calls have items of their own: a shell, a patch, and a tool that a search of the server's finds. openai-agents, and the AI SDK."""
import json
import pathlib
import subprocess

import pytest
from turns import call, said, scripted

LIGHT = pathlib.Path(__file__).resolve().parent / "light"
PROGRAMS = {
    "openai-agents": [LIGHT / ".venv/bin/python", LIGHT / "openai_agents_tools.py"],
    "ai-sdk": ["node", LIGHT / "ai_sdk_tools.mjs"],
}
PATCH = {"type": "create_file", "path": "note.txt", "diff": '+said: "Zürich"\n+\ta tab'}


def rules(form):
    """One call a turn."""
    turns = [
        call(form, "shell", {"commands": ["printf 'hello\\n' > a.txt", "cat a.txt"]}),
        call(form, "apply_patch", PATCH),
        call(form, "tool_search", {"query": "send mail"}),
        call(form, "send_mail", {"to": "Ada"}),
        said(form, "All is done."),
    ]
    return [{"when": {"tool_results": number}, "text": text} for number, text in enumerate(turns)]


served = scripted(rules)


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_work_is_done(proxied, model, program, tmp_path):
    proxy = proxied()
    command = [*PROGRAMS[program], proxy.address + "/v1", model, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    assert report == {"calls": ["printf 'hello\\n' > a.txt", "cat a.txt", "note.txt", "Ada"], "text": "All is done."}
    assert (tmp_path / "a.txt").read_text() == "hello\n"
    assert (tmp_path / "note.txt").read_text().rstrip("\n") == 'said: "Zürich"\n\ta tab'
    kinds = {"message", "reasoning", "function_call", "shell_call", "apply_patch_call", "tool_search_call", "tool_search_output"}
    items = [event["item"] for exchange in proxy.exchanges for event in exchange.events() if event["type"] == "response.output_item.done"]
    assert {item["type"] for item in items} - {"reasoning", "message"} == kinds - {"reasoning", "message"}
    assert {exchange.status for exchange in proxy.exchanges} == {200}

"""Claude Code against the Messages API: a turn with one shell command, in every format."""
import json
import os
import pathlib
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
CLAUDE = HERE / "claude-code/node_modules/.bin/claude"


@pytest.fixture
def claude(tmp_path, model):
    """Runs `claude -p` in a folder of its own and returns the messages that it prints, and the folder."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()

    def run(proxy, prompt, *switches, **variables):
        command = [CLAUDE, "-p", prompt, "--output-format", "stream-json", "--verbose", *switches]
        models = {f"ANTHROPIC_{name}": model for name in ("MODEL", "DEFAULT_HAIKU_MODEL", "SMALL_FAST_MODEL")}
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "ANTHROPIC_BASE_URL": proxy.address,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            **models,
            **variables,
        }
        done = subprocess.run(
            command, cwd=work, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()], work

    return run


def blocks(messages, kind):
    """Returns the content blocks of one kind in messages of a request or of the program's output."""
    contents = [message["content"] for message in messages if isinstance(message["content"], list)]
    return [block for content in contents for block in content if block["type"] == kind]


def test_a_shell_turn(proxied, claude):
    proxy = proxied()
    shown, work = claude(proxy, "Note the date with the shell.", "--allowedTools", "Bash")
    assert (work / "note.txt").read_text() == "noted\n"
    assert (shown[-1]["subtype"], shown[-1]["result"]) == ("success", "The note is written.")
    spoken = [line["message"] for line in shown if line["type"] in ("assistant", "user")]
    assert [block["text"] for block in blocks(spoken, "text")] == ["I write the note.", "The note is written."]
    assert [block["thinking"] for block in blocks(spoken, "thinking")][0] == "A shell command does that."
    assert all(exchange.status == 200 for exchange in proxy.exchanges), proxy.exchanges
    asked = [exchange for exchange in proxy.exchanges if exchange.path.startswith("/v1/messages?")]
    first, second = [exchange for exchange in asked if "Note the date" in json.dumps(exchange.request["messages"])]
    started = [event["content_block"] for event in first.events() if event["type"] == "content_block_start"]
    assert [block["type"] for block in started] == ["thinking", "text", "tool_use"]
    [call] = blocks(second.request["messages"], "tool_use")
    [result] = blocks(second.request["messages"], "tool_result")
    assert call["id"] == result["tool_use_id"] == started[-1]["id"]
    assert "noted" in json.dumps(result["content"])

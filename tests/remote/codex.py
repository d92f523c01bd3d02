"""The real Codex CLI (as `tests/agents` installs it) with a server whose engine is remote.

Its requests are longer than those for which qwen3-tiny was trained, and the model's answers to them don't end. So Codex gets an answer to
the user's message alone, and its real requests are sent to both servers afterwards: the answers have to be equal.

    python codex.py LOCAL REMOTE
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
AGENTS = HERE.parent / "agents"
sys.path.insert(0, str(AGENTS))

import compare  # noqa: E402
import protocols  # noqa: E402
from proxy import Proxy  # noqa: E402


def run(address, folder):
    """Runs `codex exec` once. -> the events that it prints"""
    home, work = folder / "home", folder / "work"
    home.mkdir()
    work.mkdir()
    fill = {"MODEL": "qwen3-tiny", "ADDRESS": address, "CATALOG": str(home / "catalog.json"), "262144": "32768"}
    for name in ("config.toml", "catalog.json"):
        text = (AGENTS / "codex" / name).read_text()
        for what, value in fill.items():
            text = text.replace(what, value)
        (home / name).write_text(text)
    command = [AGENTS / "codex/node_modules/.bin/codex", "exec", "--json", "--skip-git-repo-check", "--sandbox", "read-only", "Hello!"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "CODEX_HOME": str(home)}
    done = subprocess.run(command, cwd=work, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def shortened(body):
    said = [item for item in body["input"] if item.get("role") == "user"][-1:]
    return {**body, "input": said, "instructions": None, "tools": [], "temperature": 0}


def main(local, remote):
    proxy = Proxy(remote, rewrite=shortened)
    with tempfile.TemporaryDirectory() as folder:
        events = run(proxy.address, pathlib.Path(folder))
    shown = {event["item"]["type"]: event["item"]["text"] for event in events if event["type"] == "item.completed"}
    turn = [event["type"] for event in events if event["type"].startswith("turn.")][-1]
    failed = (turn, shown.get("agent_message")) != ("turn.completed", "Hello! How can I help you today?")
    print(f"{'FAILED' if failed else 'ok    '} Codex's turn: {turn}, {shown}")
    for number, body in enumerate(proxy.requests("/v1/responses"), 1):
        greedy = {**body, "temperature": 0, "max_output_tokens": 200, "include": []}
        asked = protocols.responses(local, greedy)
        wrong = compare.equal(asked, protocols.responses(remote, greedy))
        failed += bool(wrong)
        print(f"{'FAILED' if wrong else 'ok    '} Codex's request {number}, {asked['tokens'][0]} tokens{': ' + wrong[:600] if wrong else ''}")
    proxy.stop()
    sys.exit(failed > 0)


if __name__ == "__main__":
    main(*sys.argv[1:])

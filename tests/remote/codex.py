"""The real Codex CLI (as `tests/agents` installs it) with a server whose engine is remote.

Its requests are longer than those for which qwen3-tiny was trained, and the model's answers to them don't end. So Codex gets an answer to
the user's message alone, and its real requests are sent to both servers afterwards: the answers have to be equal up to a near tie.

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
# Difference of two log-probabilities below which rounding decides which token is the best one. The engines' differ by up to 0.01 there.
TIE = 0.02

import compare  # noqa: E402
import protocols  # noqa: E402
from proxy import Proxy  # noqa: E402


def run(address, folder):
    """Runs `codex exec` once. -> the events that it prints"""
    home, work = folder / "home", folder / "work"
    home.mkdir()
    work.mkdir()
    config = (AGENTS / "codex/config.toml").read_text()
    (home / "config.toml").write_text(config.replace("MODEL", "qwen3-tiny").replace("ADDRESS", address))
    context = ["-c", "model_context_window=32768"]  # the model's own is too short for Codex's first prompt
    command = [AGENTS / "codex/node_modules/.bin/codex", "exec", "--json", "--skip-git-repo-check", "--sandbox", "read-only", *context, "Hello!"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "CODEX_HOME": str(home), "SLUICE_KEY": "none"}
    done = subprocess.run(command, cwd=work, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def shortened(body):
    said = [item for item in body["input"] if item.get("role") == "user"][-1:]
    return {**body, "input": said, "instructions": None, "tools": [], "temperature": 0}


def lead(local, body, one, other):
    """Returns how far the best token was ahead of the next one, in log-probability, where the messages `one` and `other` part."""
    place = len(os.path.commonprefix([one, other]))
    asked = {**body, "include": ["message.output_text.logprobs"], "top_logprobs": 2}
    events = protocols.events(local, "/v1/responses", asked)
    tokens = [token for event in events if event["type"] == "response.output_text.delta" for token in event["logprobs"]]
    end = 0
    for token in tokens:
        end += len(token["token"])
        if end > place:
            best, second = [top["logprob"] for top in token["top_logprobs"]]
            return best - second
    return float("inf")


def differs(local, body, one, other):
    """Returns how two answers differ; nothing if they part at a near tie, which rounding decides: behind 4,096 tokens there are many."""
    wrong = compare.equal(one, other)
    messages = [[item[1] for item in answer["items"] if item[0] == "message"] for answer in (one, other)]
    if wrong and all(len(texts) == 1 for texts in messages) and (ahead := lead(local, body, messages[0][0], messages[1][0])) < TIE:
        print(f"       the answers part at a near tie: {ahead:.4f}")
        return ""
    return wrong


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
        wrong = differs(local, greedy, asked, protocols.responses(remote, greedy))
        failed += bool(wrong)
        print(f"{'FAILED' if wrong else 'ok    '} Codex's request {number}, {asked['tokens'][0]} tokens{': ' + wrong[:600] if wrong else ''}")
    proxy.stop()
    sys.exit(failed > 0)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""`host launch`: each agent is started with a scripted model in the same process, and shows its answer; none of the user's files is changed."""
import os
import subprocess

import pytest
from conftest import HERE
from server import HOST, replay_file

import models

ANSWER = "Hello from the model."
# The arguments with which each agent answers one prompt and ends.
ARGUMENTS = {
    "codex": ["exec", "--skip-git-repo-check"],
    "claude": ["-p"],
    "qwen": ["-p"],
    "opencode": ["run"],
    "kilo": ["run"],
    "copilot": ["-p"],
    "pi": ["-p"],
    "aider": ["--no-git", "--yes-always", "--no-check-update", "--analytics-disable", "--message"],
}
# Settings of the user's own, which stay as they are: of the newest form, since agents bring older ones up to date themselves.
OWN = {
    ".codex/config.toml": 'model = "of-the-user"\n',
    ".claude/settings.json": '{"model": "of-the-user"}\n',
    ".qwen/settings.json": '{"model": {"name": "of-the-user"}, "security": {"auth": {"selectedType": "openai", "apiKey": "wrong"}}, "$version": 4}\n',
    ".config/opencode/opencode.json": '{"$schema": "https://opencode.ai/config.json", "model": "of/the-user"}\n',
    ".config/kilo/kilo.json": '{"$schema": "https://app.kilo.ai/config.json", "model": "of/the-user"}\n',
    ".config/kilo/.bash-permission-migrated": "",
    ".copilot/settings.json": '{"model": "of-the-user"}\n',
    ".pi/agent/settings.json": '{"defaultProvider": "of-the-user", "defaultModel": "of-the-user"}\n',
    ".aider.conf.yml": "model: of-the-user\nweak-model: of-the-user\nopenai-api-base: http://127.0.0.1:1/v1\n",
    "work/.env": "OPENAI_API_KEY=wrong\nOPENAI_API_BASE=http://127.0.0.1:1/v1\n",
}
# Folders in which the agents are installed.
FOLDERS = ["codex", "claude-code", "coding", "launch"]
# Variables of the user's own, for other servers.
VARIABLES = {
    "COPILOT_PROVIDER_API_KEY": "wrong",
    "COPILOT_PROVIDER_HEADERS": "x-of-the-user: wrong",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # or aider would ask the network first
}


@pytest.mark.parametrize("agent", ARGUMENTS)
def test_a_launched_agent_shows_the_answer(agent, tmp_path):
    home, work = tmp_path / "home", tmp_path / "home/work"
    for name, text in OWN.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    directory = models.make("qwen3", tmp_path / "models")
    engine = replay_file(tmp_path, [{"text": f"<think>\nEasy.\n</think>\n\n{ANSWER}"}])
    folders = [str(HERE / folder / "node_modules/.bin") for folder in FOLDERS]
    path = os.pathsep.join([*folders, str(HERE / "launch/.venv/bin"), os.environ["PATH"]])
    environment = VARIABLES | {"PATH": path, "HOME": str(home), "TMPDIR": str(tmp_path)}
    command = [HOST, "launch", agent, "-m", str(directory), "--engine", engine, "--", *ARGUMENTS[agent], "Say hello."]
    done = subprocess.run(
        command, cwd=work, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert ANSWER in done.stdout
    assert {name: (home / name).read_text() for name in OWN} == OWN
    assert not list(tmp_path.glob("sluice-*"))

"""Coding agents of the command line over Chat Completions, opencode over a WebSocket, too: each writes one file with its own tool (aider with a
text), in every format."""
import json
import os
import pathlib
import subprocess

import pytest
from conftest import HERE, UV
from turns import call, said, scripted

NODE = HERE / "coding/node_modules/.bin"
SHELL = "printf 'done\\n' > note.txt && cat note.txt"
DONE = "The note is there."
FINISH = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"  # mini-swe-agent's agreement with its model


def opencode(address, model):
    server = {"baseURL": address, "apiKey": "none"}
    provider = {"npm": "@ai-sdk/openai-compatible", "options": server, "models": {model: {}}}
    chosen = {"model": f"sluice/{model}", "small_model": f"sluice/{model}"}
    config = {"provider": {"sluice": provider}, **chosen, "share": "disabled", "autoupdate": False}
    return [[NODE / "opencode", "run"]], {"OPENCODE_CONFIG_CONTENT": json.dumps(config), "OPENCODE_DISABLE_MODELS_FETCH": "1"}


def qwen_code(address, model):
    server = {"OPENAI_BASE_URL": address, "OPENAI_API_KEY": "none", "OPENAI_MODEL": model}
    return [[NODE / "qwen", "--auth-type", "openai", "--yolo", "-p"]], server


def cline(address, model):
    setup = [NODE / "cline", "auth", "--provider", "openai", "--apikey", "none", "--modelid", model, "--baseurl", address]
    return [setup, [NODE / "cline", "--provider", "openai", "--model", model]], {}


def aider(address, model):
    quiet = ["--no-git", "--yes-always", "--no-check-update", "--no-show-model-warnings", "--analytics-disable"]
    command = [UV, "tool", "run", "--quiet", "--from", "aider-chat==0.86.2", "aider", "--model", f"openai/{model}"]
    return [[*command, *quiet, "note.txt", "--message"]], {"OPENAI_API_BASE": address, "OPENAI_API_KEY": "none"}


def mini_swe(address, model):
    command = [UV, "tool", "run", "--quiet", "--from", "mini-swe-agent==2.4.6", "mini", "--model", f"openai/{model}"]
    switches = ["-c", "mini.yaml", "-c", f"model.model_kwargs.api_base={address}", "--yolo", "--exit-immediately", "--task"]
    settings = {"OPENAI_API_KEY": "none", "MSWEA_CONFIGURED": "true", "MSWEA_COST_TRACKING": "ignore_errors"}
    return [[*command, *switches]], settings


# The commands that prepare and run each agent, the tool that it has, and the tool's arguments; none: the agent reads files from text.
AGENTS = {
    "opencode": (opencode, "bash", {"command": SHELL, "description": "Write the note"}),
    "qwen-code": (qwen_code, "run_shell_command", {"command": SHELL, "is_background": False}),
    "cline": (cline, "run_commands", {"commands": [SHELL]}),
    "aider": (aider, None, None),
    "mini-swe-agent": (mini_swe, "bash", {"command": SHELL}),
}


def asked(agent):
    return f"Write the note with {agent}, please."


def rules(form):
    made = []
    for agent, (_, tool, arguments) in AGENTS.items():
        about = {"last_user_contains": asked(agent)}
        if tool is None:
            made.append({"when": about, "text": said(form, f"{DONE}\n\nnote.txt\n```\ndone\n```\n")})
            continue
        made.append({"when": about | {"tool_declared": tool, "tool_results": 0}, "text": call(form, tool, arguments)})
        end = call(form, tool, {"command": FINISH}) if agent == "mini-swe-agent" else said(form, DONE)
        made.append({"when": about | {"contains": "done", "last_role": "tool"}, "text": end})
    return [*made, {"text": said(form, "A title")}]  # opencode asks for one beside the turn


served = scripted(rules)


def run(commands, settings, home):
    """Runs the commands in a folder of their own; returns the last one, which has ended well, and the folder."""
    work = home / "work"
    work.mkdir()
    cache = os.environ.get("UV_CACHE_DIR", str(pathlib.Path.home() / ".cache/uv"))
    folders = {"HOME": str(home), "PWD": str(work), "UV_CACHE_DIR": cache, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    for command in commands:
        done = subprocess.run(
            command, cwd=work, env=os.environ | folders | settings, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return done, work


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_writes_a_file(proxied, model, tmp_path, agent):
    proxy = proxied()
    commands, settings = AGENTS[agent][0](proxy.address + "/v1", model)
    commands[-1].append(asked(agent))
    done, work = run(commands, settings, tmp_path)
    if agent == "cline":  # it leaves a process behind
        subprocess.run(["pkill", "-f", "--", f"--cline-hub-daemon --cwd {work}"], check=True)
    assert (work / "note.txt").read_text() == "done\n"
    requests = [exchange.request for exchange in proxy.exchanges if exchange.path == "/v1/chat/completions"]
    assert {exchange.status for exchange in proxy.exchanges} == {200}
    if AGENTS[agent][1] is not None:
        sent_back = [message["content"] for message in requests[-1]["messages"] if message["role"] == "tool"]
        assert "done" in json.dumps(sent_back)
    if agent != "mini-swe-agent":
        assert DONE in done.stdout


def test_opencode_works_over_a_web_socket(proxied, model, tmp_path):
    proxy = proxied()
    [command], settings = opencode(proxy.address + "/v1", model)
    server = {"baseURL": proxy.address + "/v1", "apiKey": "none"}
    provider = {"provider": {"openai": {"options": server, "models": {model: {}}}}}
    chosen = {"model": f"openai/{model}", "small_model": f"openai/{model}"}
    config = json.loads(settings["OPENCODE_CONFIG_CONTENT"]) | provider | chosen
    settings |= {"OPENCODE_CONFIG_CONTENT": json.dumps(config), "OPENCODE_EXPERIMENTAL_WEBSOCKETS": "1"}
    keys = tmp_path / ".local/share/opencode/auth.json"
    keys.parent.mkdir(parents=True)
    keys.write_text(json.dumps({"openai": {"type": "api", "key": "none"}}))  # without it opencode uses HTTP
    done, work = run([[*command, asked("opencode")]], settings, tmp_path)
    assert (work / "note.txt").read_text() == "done\n"
    assert DONE in done.stdout
    first, second = [exchange for exchange in proxy.exchanges if exchange.status == 101]
    [result] = [item for item in second.request["input"] if item.get("type") == "function_call_output"]
    assert "done" in json.dumps(result["output"])
    assert [exchange.events()[-1]["type"] for exchange in (first, second)] == ["response.completed"] * 2

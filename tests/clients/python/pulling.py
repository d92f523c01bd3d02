"""`host pull` against a hub on this machine, with a cache of its own, and Python's client beside it."""
import os
import pathlib
import subprocess
import sys

from hub import COMMIT
from openai import OpenAI
from server import HOST


def environment(hub, home):
    mine = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    return {**mine, "HF_ENDPOINT": hub.url, "HF_HOME": str(home), "HF_TOKEN": "secret", "HF_HUB_DISABLE_XET": "1"}


def repository_of(env, model):
    """Its folder in the cache."""
    return pathlib.Path(env["HF_HOME"]) / "hub" / f"models--{model.replace('/', '--')}"


def snapshot_of(env, model):
    """The folder of its snapshot."""
    return repository_of(env, model) / "snapshots" / COMMIT


def present(env, model):
    """Files of the snapshot whose content is there."""
    folder = snapshot_of(env, model)
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def host_pull(env, *arguments):
    return subprocess.run([HOST, "pull", *arguments], env=env, capture_output=True, text=True, timeout=300)


def refusal(env, *arguments):
    """The one line with which a pull fails; nothing has its final name unless its digest is right."""
    done = host_pull(env, *arguments)
    assert done.returncode == 1 and not done.stdout, done
    lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1 and done.stderr.endswith(lines[0] + "\n") and len(lines[0]) < 600, done.stderr
    assert not list(pathlib.Path(env["HF_HOME"]).rglob("refs"))
    return lines[0]


def python(env, code, **settings):
    """Runs Python's own client."""
    command = [sys.executable, "-c", f"from huggingface_hub import hf_hub_download, snapshot_download\n{code}"]
    return subprocess.Popen(command, env={**env, "HF_HUB_DISABLE_PROGRESS_BARS": "1", **settings}, stdout=subprocess.PIPE, text=True)


def asked(server, model):
    """What a server's model answers to a question."""
    client = OpenAI(base_url=server.address + "/v1", api_key="none", max_retries=0)
    return client.responses.create(model=model, input="What is 2 plus 3?", temperature=0).output_text

"""Our server and llama.cpp's on one GGUF file, which they take as it is: `with serving(ours(…))`, then `post`."""
import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

# A file without a chat template is served, too: prompts are raw.
TEMPLATE = pathlib.Path(__file__).parent / "plain.jinja"
CONTEXT = "2048"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def ours(host, model, port, *switches):
    return [host, "serve", "--model", model, "--chat-template", str(TEMPLATE), "--parser", "none", "--store", "none", "--device", "cpu",
            "--context", CONTEXT, "--listen", f"127.0.0.1:{port}", *switches]


def theirs(llama, model, port):
    return [llama, "-m", model, "--port", str(port), "-c", CONTEXT, "-ngl", "0", "-t", os.environ.get("SLUICE_THREADS", "1")]


def post(port, path, body):
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=300) as answer:
        return json.load(answer)


@contextlib.contextmanager
def serving(command, port):
    """Runs a server until the block ends; gives the process's id once it answers."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            while True:
                try:
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
                        if answer.status == 200:
                            break
                except OSError:
                    if process.poll() is not None:
                        log.seek(0)
                        sys.exit(log.read().decode(errors="replace"))
                    time.sleep(0.2)
            yield process.pid
        finally:
            process.terminate()
            process.wait()

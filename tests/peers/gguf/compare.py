"""Compares our server with llama.cpp's on one GGUF file.

    python compare.py HOST LLAMA_SERVER MODEL.gguf

Token ids of odd texts must be equal (exit status 1 if not). Greedy answers to a few prompts, given as the same ids, are shown with the number of
tokens in which they agree: both round inputs to eight bits, in groups of different sizes, so that a later token may differ.
"""
import contextlib
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

TEXTS = [
    "", " ", "  ", "   ", "\t", "\n", "\n\n", "\n\n\n", "\t\n", "Hello world", " Hello  world ", "Hello, y'all! I'VE 3 33 333 3333.",
    "naïve café Ünïcode", "你好,世界", "Привет, мир", "नमस्ते", "🚀 (normal) 😶‍🌫️", "e\u0301 \u00e9", "\u200b\u00a0x", "a\r\nb\r\n", "def f(x):\n    return x  # done\n",
    "x" * 300, "1234567890" * 5, "''''''```````\"\"\"\"......!!!!!!??????", "\x00\x01\x7f", "ﬁ ﬂ ½ ²", "ᄀ각힣",
]
PROMPTS = [
    "The capital of France is", "Once upon a time, there was a", "def fibonacci(n):\n", "Water boils at", "1, 2, 3, 4, 5,", "The largest planet of the solar system",
]
TOKENS = 32


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def post(port, path, body):
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=300) as answer:
        return json.load(answer)


@contextlib.contextmanager
def serving(command, port):
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


def main(host, llama, model):
    ours, theirs = free_port(), free_port()
    template = pathlib.Path(tempfile.mkdtemp()) / "template.jinja"
    template.write_text("{% for message in messages %}{{ message.content }}{% endfor %}")
    our_command = [host, "serve", "--model", model, "--chat-template", str(template), "--parser", "none", "--store", "none",
                   "--listen", f"127.0.0.1:{ours}", "--device", "cpu", "--context", "2048"]
    their_command = [llama, "-m", model, "--port", str(theirs), "-c", "2048", "-ngl", "0", "-fa", "off"]
    with serving(our_command, ours), serving(their_command, theirs):
        wrong = 0
        for text in TEXTS + PROMPTS:
            a = post(ours, "/tokenize", {"prompt": text, "add_special_tokens": False})["tokens"]
            b = post(theirs, "/tokenize", {"content": text, "add_special": False, "parse_special": False})["tokens"]
            if a != b:
                wrong += 1
                print(f"{text!r}: {a[:20]} here, {b[:20]} there")
        print(f"{pathlib.Path(model).name}: {len(TEXTS + PROMPTS) - wrong} of {len(TEXTS + PROMPTS)} texts have equal ids")
        for prompt in PROMPTS:
            ids = post(theirs, "/tokenize", {"content": prompt, "add_special": True})["tokens"]
            body = {"model": pathlib.Path(model).stem, "prompt": ids, "temperature": 0, "max_tokens": TOKENS, "return_token_ids": True, "ignore_eos": True}
            a = post(ours, "/v1/completions", body)["choices"][0]
            body = {"prompt": ids, "temperature": 0, "n_predict": TOKENS, "return_tokens": True, "ignore_eos": True, "cache_prompt": False}
            b = post(theirs, "/completion", body)
            pairs = list(zip(a["token_ids"], b["tokens"]))
            same = next((i for i, (x, y) in enumerate(pairs) if x != y), len(pairs))
            print(f"  {same} of {TOKENS} tokens equal: {prompt!r} → {a['text']!r}")
            if same < TOKENS:
                print(f"      there: {b['content']!r}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

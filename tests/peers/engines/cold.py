"""Measures the time from a server's start to its first token, and its memory, with weights as stored, repacked and quantised.

    python cold.py HOST CONFIG.json DIRECTORY

Makes a checkpoint of random bf16 weights of Qwen3's architecture in DIRECTORY, with qwen3-tiny's tokenizer and template, and serves it.
Files are in the system's cache, so the server is measured, not the disk.
"""
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request

import numpy

PORT = 18437
TINY = pathlib.Path(__file__).parents[3] / "host" / "models" / "qwen3-tiny"


def tensors(config):
    """Yields (name, shape) of each tensor, with its published name."""
    hidden, head, width = config["hidden_size"], config["head_dim"], config["intermediate_size"]
    queries, keys = config["num_attention_heads"] * head, config["num_key_value_heads"] * head
    yield "model.embed_tokens.weight", (config["vocab_size"], hidden)
    yield "model.norm.weight", (hidden,)
    for layer in range(config["num_hidden_layers"]):
        name = f"model.layers.{layer}"
        for norm in ["input_layernorm", "post_attention_layernorm"]:
            yield f"{name}.{norm}.weight", (hidden,)
        for norm in ["q_norm", "k_norm"]:
            yield f"{name}.self_attn.{norm}.weight", (head,)
        shapes = {"q": (queries, hidden), "k": (keys, hidden), "v": (keys, hidden), "o": (hidden, queries)}
        for part, shape in shapes.items():
            yield f"{name}.self_attn.{part}_proj.weight", shape
        for part, shape in {"gate": (width, hidden), "up": (width, hidden), "down": (hidden, width)}.items():
            yield f"{name}.mlp.{part}_proj.weight", shape


def write(config, path):
    entries, at = {}, 0
    for name, shape in tensors(config):
        size = 2 * int(numpy.prod(shape))
        entries[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    header = json.dumps(entries).encode()
    header += b" " * (-len(header) % 8)
    generator = numpy.random.default_rng(1)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        for _, shape in tensors(config):
            values = generator.standard_normal(shape, dtype=numpy.float32) * numpy.float32(0.02)
            file.write((values.view("<u4") >> 16).astype("<u2").tobytes())


def first_token(process, began):
    """Returns the seconds from `began` to the arrival of the first token."""
    body = json.dumps({"model": "cold", "prompt": "Hello", "max_tokens": 1}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}/v1/completions", body, {"Content-Type": "application/json"})
    while process.poll() is None:
        try:
            urllib.request.urlopen(request, timeout=60).read()
            return time.monotonic() - began
        except urllib.error.HTTPError as error:
            sys.exit(f"{error}: {error.read().decode()}")
        except urllib.error.URLError:
            time.sleep(0.005)
    sys.exit(f"the server ended with {process.returncode}")


def resident(process):
    """Returns MB of the process's own memory, and of mapped files."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    return [int(fields[name].split()[0]) * 1024 / 1e6 for name in ["RssAnon", "RssFile"]]


def measure(host, directory, switches):
    began = time.monotonic()
    command = [host, "serve", "--model", directory, "--served-model-name", "cold", "--listen", f"127.0.0.1:{PORT}"]
    process = subprocess.Popen([*command, "--parser", "none", "--store", "none", *switches], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        return first_token(process, began), *resident(process)
    finally:
        process.terminate()
        process.wait()


def main():
    host, config, directory = sys.argv[1], json.loads(pathlib.Path(sys.argv[2]).read_text()), pathlib.Path(sys.argv[3])
    directory.mkdir(parents=True, exist_ok=True)
    for file in ["tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "generation_config.json"]:
        shutil.copy(TINY / file, directory)
    (directory / "config.json").write_text(json.dumps({**config, "model_type": "qwen3"}))
    weights = directory / "model.safetensors"
    if not weights.exists():
        write(config, weights)
    print(f"file {weights.stat().st_size / 1e6:.0f} MB")
    for name, switches in [("mapped", ["--repack", "never"]), ("repacked", []), ("q8", ["--quantize", "q8"]), ("q4", ["--quantize", "q4"])]:
        seconds, own, files = min(measure(host, directory, switches) for _ in range(3))
        print(f"{name:10} first token after {seconds:5.2f} s, own memory {own:6.0f} MB, mapped files {files:6.0f} MB", flush=True)


main()

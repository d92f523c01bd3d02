"""Serves templates without weights: a model directory for each, and `host serve` with many of them at once.

Invariant: a token of the models made here is a byte or a literal, so the ids that the server answers are read back here, to the byte.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOST = os.environ.get("SLUICE_HOST", str(ROOT / "target/release/host"))
CONTEXT = 1_000_000
ARGUMENTS = ["enable_thinking", "reasoning_effort", "thinking"]
# What looks like a control token in a template: <|a|>, <｜a｜>, <|a>, <a|>, <a>, </a>, [A], [/A], [gMASK].
LITERAL = re.compile(r"<[|｜][^\s|｜<>{}'\"\\]+[|｜]?>|<[A-Za-z_]+[|｜]>|</?[A-Za-z_][\w:.-]*>|\[/?[A-Z][A-Z_]+\]|\[gMASK\]")


def byte_characters():
    """Returns the character of each byte in the vocabularies of byte-level tokenizers."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = iter(range(256, 512))
    return [chr(byte) if byte in shown else chr(next(hidden)) for byte in range(256)]


def make_model(directory, template, special_tokens, more=()):
    """Writes a model directory and returns the literals of its added tokens, those of `more` that look like some among them; the first has id 256."""
    literals = sorted({*LITERAL.findall(template), *special_tokens.values(), *filter(LITERAL.fullmatch, more)})
    plain = {key: False for key in ("single_word", "lstrip", "rstrip", "normalized")}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "normalizer": None, "post_processor": None,
        "added_tokens": [{"id": 256 + index, "content": text, **plain, "special": True} for index, text in enumerate(literals)],
        "pre_tokenizer": level, "decoder": level,
        "model": {"type": "BPE", "vocab": {text: byte for byte, text in enumerate(byte_characters())}, "merges": []},
    }
    directory.mkdir(parents=True, exist_ok=True)
    write = lambda file, value: (directory / file).write_text(json.dumps(value, ensure_ascii=False))
    write("tokenizer.json", tokenizer)
    write("tokenizer_config.json", {**special_tokens, "model_max_length": CONTEXT})
    write("config.json", {"model_type": "llama", "max_position_embeddings": CONTEXT, "vocab_size": 256 + len(literals)})
    write("generation_config.json", {"eos_token_id": [256 + literals.index(special_tokens["eos_token"])]})
    (directory / "chat_template.jinja").write_bytes(template.encode())
    return literals


class Refused(Exception):
    """The server's answer to a request that it didn't take."""

    def __init__(self, status, message):
        super().__init__(f"{status}: {message}")
        self.status, self.message = status, message


class Server:
    """The server with the models in FOLDER of these names. `address` is None if it didn't start."""

    def __init__(self, folder, names):
        (folder / "replay.json").write_text(json.dumps({"rules": [{"text": "x"}]}))
        self.log = tempfile.TemporaryFile("w+")
        command = [HOST, "serve", "--listen", "127.0.0.1:0", "--log-json", "--parser", "none", "--store", "none", "--engine", f"replay:{folder}/replay.json"]
        command += [word for name in ARGUMENTS for word in ("--template-argument", name)]
        command += [word for name in names for word in ("--model", f"{name}={folder / name}")]
        # Dates in prompts are of one time zone.
        self.process = subprocess.Popen(command, env={**os.environ, "TZ": "UTC"}, stdout=subprocess.PIPE, stderr=self.log, text=True)
        found = (re.match(r"address\s+(http://\S+)", line) for line in self.process.stdout)
        self.address = next((match[1] for match in found if match), None)
        if self.address is None:
            self.process.wait(60)

    def lines(self):
        """Returns the log."""
        self.log.seek(0)
        return self.log.read().splitlines()

    def culprit(self, names):
        """Returns the model whose files the server's last words name."""
        last = self.lines()[-1]
        return next((name for name in names if f"/{name}/" in last or f"/{name}:" in last), None) or sys.exit(f"the server did not start: {last}")

    def fits(self):
        """Returns the changes that the log names (`fit`) for each model that needs some. A model's next line has its name."""
        fits, pending = {}, None
        for line in self.lines():
            fields = json.loads(line)["fields"]
            if "fit" in fields:
                pending = re.findall(r"[A-Z]\w+", fields["fit"].removeprefix("Fit"))
            elif pending and "model" in fields:
                fits[fields["model"]], pending = pending, None
        return fits

    def post(self, path, body):
        """Returns the answer to a request; raises `Refused`."""
        request = urllib.request.Request(self.address + path, json.dumps(body).encode(), {"content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise Refused(error.code, json.load(error)["error"]["message"]) from None

    def stop(self):
        """Stops the server; fails if it panicked."""
        self.process.terminate()
        self.process.wait(60)
        assert not any("panicked" in line for line in self.lines()), "the server panicked"


def text_of(ids, literals):
    """Returns the text of token ids."""
    return b"".join(bytes([id]) if id < 256 else literals[id - 256].encode() for id in ids).decode()


def ids_of(text, literals):
    """Returns the token ids of a text in which every literal is a token."""
    longest_first = "|".join(map(re.escape, sorted(literals, key=len, reverse=True)))
    ids = []
    for index, piece in enumerate(re.split(f"({longest_first})", text)):
        ids += [256 + literals.index(piece)] if index % 2 else piece.encode()
    return ids

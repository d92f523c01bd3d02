"""GGUF files of the hub: which are chosen, what of them is downloaded and when, and what is refused."""
import json
import pathlib
import re
import signal
import subprocess

import pytest
from conftest import client_of
from gguf_files import F32, tiny_file, tiny_keys, tiny_parts, written
from hub import COMMIT, Hub, entry
from pulling import asked, environment, host_pull, present, python, refusal, repository_of, snapshot_of
from round_trip import weather_round_trip
from server import HOST, Server

MODEL = "org/tiny-GGUF"
FILE = "tiny-BF16.gguf"
PARTS = tiny_parts(3, "BF16/tiny-BF16")
NO_MODELS = {"mmproj-BF16.gguf": b"GGUF", "mtp-tiny-BF16.gguf": b"GGUF", "README.md": b"# Tiny"}
MIB = 1 << 20


def hub_of(files):
    return Hub({MODEL: {**files, **NO_MODELS}})


@pytest.fixture
def hub():
    hub = hub_of({FILE: tiny_file(), "tiny-UD-BF16.gguf": tiny_file()})
    yield hub
    hub.stop()


@pytest.fixture
def parted():
    hub = hub_of(PARTS)
    yield hub
    hub.stop()


@pytest.fixture
def env(hub, tmp_path):
    return environment(hub, tmp_path)


def snapshot(env):
    return snapshot_of(env, MODEL)


def pulled(env, name, path=FILE):
    """Pulls; returns what was said."""
    done = host_pull(env, name)
    assert done.returncode == 0, done.stderr
    assert pathlib.Path(done.stdout.strip()) == snapshot(env) / path
    assert not list((repository_of(env, MODEL) / "blobs").glob("*.incomplete"))
    return done


def answer(env, *arguments, name):
    server = Server(*arguments, env=env)
    text = asked(server, name)
    server.stop()
    return text


def test_one_file_comes_and_is_served(hub, env, embedded):
    pulled(env, f"{MODEL}:bf16")
    assert present(env, MODEL) == {FILE} and hub.delivered() == {FILE: len(tiny_file())}
    assert (repository_of(env, MODEL) / "refs/main").read_text() == COMMIT
    assert hub.credentials() == {("127.0.0.1", "Bearer secret"), ("localhost", None)}
    hub.stop()
    text = asked(embedded, "qwen3-tiny")
    assert answer(env, "--model", f"{MODEL}:BF16", name=f"{MODEL}:BF16") == text != ""
    offline = {**env, "HF_HUB_OFFLINE": "1"}
    assert answer(offline, "--model", f"{MODEL}@{COMMIT}/{FILE}".replace("/tiny-BF16", ":tiny-BF16"), name="tiny-BF16") == text
    both = Server("--model", f"a={MODEL}:BF16", "--model", MODEL, "--kv-cache", "64", env=offline)
    assert (asked(both, "a"), asked(both, MODEL)) == (text, text)
    both.stop()


def test_server_before_a_hubs_file_has_its_parser(hub, env):
    name, said = f"{MODEL}:BF16", []
    inner = Server("--model", name, env=env)
    outer = Server("--model", name, "--engine", inner.address, "--parser", "auto", env=env)
    for server in (inner, outer):
        first, call, second = weather_round_trip(client_of(server), name, "Helsinki")
        assert [item.type for item in first.output] == ["reasoning", "function_call"], "no call is there twice"
        said.append((call.name, call.arguments, second.output_text))
    assert said[0] == said[1] and outer.parser == inner.parser != ""
    assert hub.delivered() == {FILE: len(tiny_file())}
    outer.stop()
    inner.stop()


def test_server_downloads_at_its_first_start(hub, env, embedded):
    for _ in range(2):
        assert answer(env, "-m", f"hf.co/{MODEL}:{FILE}", name="tiny-BF16") == asked(embedded, "qwen3-tiny")
    assert hub.delivered() == {FILE: len(tiny_file())}


def test_commands_take_what_the_cache_has(hub, env, tmp_path):
    def host(*arguments):
        done = subprocess.run([HOST, *arguments], env=env, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done
        return done.stdout + done.stderr

    name = f"{MODEL}:BF16"
    assert f"host pull {name}, or the start downloads it" in host("doctor", "--model", name, "--listen", "127.0.0.1:0")
    assert host("run", "What is 2 plus 3?", "-m", name, "-o", "temperature=0").strip()
    hub.stop()
    report = host("doctor", "--model", name, "--listen", "127.0.0.1:0")
    assert re.search(rf"^ok +model +{name} in .*{FILE} \(qwen3, mostly BF16, \"Tiny\"\)", report, re.M), report
    assert re.search(rf"^ok +parser +qwen3 .* for {name}", report, re.M), report
    assert " same, 0 differ, 0 not comparable" in host("parser", "fit", "qwen3", "--model", name)
    config = tmp_path / "sluice.toml"
    config.write_text(f'[model.a]\npath = "{name}"\n')
    assert name in host("serve", "--config", str(config), "--print-config")


def test_dry_run_reads_the_header_alone(hub, env):
    done = host_pull(env, f"{MODEL}:BF16", "--dry-run")
    assert done.returncode == 0 and [line.split()[0] for line in done.stdout.splitlines()] == ["FILE", FILE, f"{MODEL}:BF16"]
    assert not (repository_of(env, MODEL) / "snapshots").exists()
    assert "--no-weights can't leave them out" in host_pull(env, MODEL + ":BF16", "--no-weights").stderr


def test_python_takes_our_file_and_we_take_its(hub, env, tmp_path):
    pulled(env, f"{MODEL}:BF16")
    code = f"print(hf_hub_download({MODEL!r}, {FILE!r}))"
    assert pathlib.Path(python(env, code, HF_HUB_OFFLINE="1").communicate()[0].strip()) == snapshot(env) / FILE
    other = {**env, "HF_HOME": str(tmp_path / "other")}
    assert python(other, code).wait() == 0
    hub.requests.clear()
    assert answer(other, "-m", f"{MODEL}:BF16", name=f"{MODEL}:BF16") != ""
    assert hub.requests == []


def test_parts_come_together_and_none_twice(parted, tmp_path, embedded):
    env = environment(parted, tmp_path)
    first = next(iter(PARTS))
    pulled(env, MODEL, first)
    assert present(env, MODEL) == set(PARTS) and parted.delivered() == {path: len(content) for path, content in PARTS.items()}
    assert answer(env, "-m", MODEL, name=MODEL) == asked(embedded, "qwen3-tiny")
    (snapshot(env) / list(PARTS)[2]).resolve().unlink()
    assert answer(env, "-m", f"{MODEL}:BF16", name=f"{MODEL}:BF16") != ""
    assert present(env, MODEL) == set(PARTS)


def test_killed_download_of_parts_goes_on(parted, tmp_path):
    env, second = environment(parted, tmp_path), list(PARTS)[1]
    size, header = len(PARTS[second]), 256 << 10
    rest = f"bytes={header}-{size - 1}"
    reached, stop = parted.hang(lambda request: second in request.path and request.headers.get("Range") == rest, 1000)
    process = subprocess.Popen([HOST, "pull", MODEL], env=env)
    assert reached.wait(120)
    digest = entry(second, PARTS[second])["lfs"]["oid"]
    partial = repository_of(env, MODEL) / "blobs" / f"{digest}.sluice.incomplete"
    while partial.stat().st_size < header + 1000:
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    stop.set()
    assert second not in present(env, MODEL) and not (repository_of(env, MODEL) / "refs").exists()
    parted.send = lambda request, content: request.wfile.write(content)
    parted.requests.clear()
    pulled(env, MODEL, next(iter(PARTS)))
    ranges = [headers["Range"] for _, path, headers in parted.requests if second in path and "Range" in headers]
    assert set(ranges) == {f"bytes={header + 1000}-{size - 1}"}


def test_long_headers_are_read_piece_by_piece(hub, env):
    content = tiny_file(keys={"general.description": "x" * 9 * MIB})
    hub.repositories[MODEL] = {FILE: content}
    pulled(env, MODEL)
    assert hub.delivered() == {FILE: len(content)}
    ranges = [headers["Range"] for _, path, headers in hub.requests if "signature" in path]
    assert ranges == [f"bytes=0-{8 * MIB - 1}", f"bytes={8 * MIB}-{len(content) - 1}"]


LARGE = {"blk.0.large.weight": (F32, [20 * MIB // 4], bytes(20 * MIB))}
OTHER = {"blk.0.large.weight": (F32, [20 * MIB // 4], b"\1" * (20 * MIB))}


def lying(header, size=20 * MIB):
    return header + bytes(size - len(header))


@pytest.mark.parametrize("content, expected", [
    (tiny_file(keys={"general.architecture": "rwkv7"}, tensors=LARGE), "architecture rwkv7 is not supported; supported: llama"),
    (tiny_file(keys={"tokenizer.ggml.pre": "new-pre"}, tensors=LARGE), "new-pre"),
    (tiny_file(keys={"tokenizer.ggml.model": "rwkv"}, tensors=LARGE), "rwkv"),
    (tiny_file(tensors={**LARGE, "output.weight": (28, [64, 64], bytes(64 * 64 * 8))}), "tensor output.weight: type F64 is not supported"),
    (tiny_file(keys={"tokenizer.ggml.merges": None}, tensors=LARGE), "no tokenizer.ggml.merges; a tokenizer of kind gpt2 needs it"),
    (lying(b"GGUF" + (3).to_bytes(4, "little") + (2**60).to_bytes(8, "little")), "1152921504606846976 tensors don't fit"),
    (lying(written({"k": b""}, {})[:33] + b"\x08\0\0\0" + (2**40).to_bytes(8, "little")), "truncated at byte"),
    (lying(b"<html>"), "no GGUF file: it doesn't begin with"),
], ids=["architecture", "pre-tokenizer", "tokenizer", "type", "merges", "count", "length", "page"])
def test_what_is_not_supported_costs_megabytes(hub, env, content, expected):
    hub.repositories[MODEL] = {FILE: content}
    line = refusal(env, MODEL)
    assert expected in line and f"{MODEL}/{FILE}: " in line, line
    assert hub.delivered() == {FILE: 8 * MIB}


def test_header_without_an_end_is_given_up(hub, env):
    size = 66 * MIB
    content = written({}, {})[:16] + (1).to_bytes(8, "little") + (1).to_bytes(8, "little") + b"k\x08\0\0\0" + (65 * MIB).to_bytes(8, "little")
    content += bytes(size - len(content))
    hub.repositories[MODEL] = {FILE: content}
    listed = entry(FILE, content)
    hub.entry = lambda given: listed if given["path"] == FILE else given
    assert refusal(env, MODEL) == f"error: {MODEL}/{FILE}: its header is longer than any model's"
    assert hub.delivered() == {FILE: 64 * MIB}


def test_parts_of_two_models_are_refused(parted, tmp_path):
    first, second, third = PARTS
    parted.repositories[MODEL] = {first: PARTS[first], second: PARTS[third], third: PARTS[second]}
    assert "this is part 3 of 3, expected part 2 of 3" in refusal(environment(parted, tmp_path), MODEL)


@pytest.mark.parametrize("files, name, expected", [
    ([FILE, "tiny-Q8_0.gguf"], ":Q4_K_M", r"no GGUF file is Q4_K_M; there are BF16 \(.*\), Q8_0 \("),
    (["a/x-Q8_0.gguf", "b/x-Q8_0.gguf"], "", r"several files are Q8_0; give one behind a colon: a/x-Q8_0.gguf \(.*\), b/x-Q8_0.gguf \("),
    (["x-Q6_K.gguf", "x-IQ4_XS.gguf"], "", r"it holds several models; give one behind a colon: IQ4_XS \(.*\), Q6_K \("),
    ([FILE], ":tiny-Q8_0.gguf", r"no GGUF file is tiny-Q8_0.gguf; there are BF16 \("),
    ([FILE], ":mmproj-BF16.gguf", "no GGUF file is mmproj-BF16.gguf"),
    (["x-BF16-00001-of-00002.gguf"], ":BF16", "it has no GGUF file of a whole model"),
    (["../evil-BF16.gguf", "/tmp/evil-BF16.gguf", "a/../../evil-BF16.gguf"], ":BF16", "it has no GGUF file of a whole model"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_refusals_list_what_there_is(hub, env, files, name, expected):
    hub.repositories[MODEL] = {**dict.fromkeys(files, b"GGUF"), **NO_MODELS}
    line = refusal(env, MODEL + name)
    assert re.search(f"^error: {MODEL}: {expected}", line), line
    assert not hub.paths(f"/{MODEL}/resolve")
    assert not list(pathlib.Path(env["HF_HOME"]).rglob("*evil*"))


def test_errors_in_the_middle_are_tried_again(hub, env):
    failures = {"signature": [500], "/resolve/": [503]}

    def fail(request):
        return next(((statuses.pop(), {}) for part, statuses in failures.items() if statuses and part in request.path), None)

    def cut(request, content):
        half = len(content) // 2 if "signature" in request.path and len(content) > MIB else len(content)
        request.wfile.write(content[:half])
        request.close_connection = half < len(content)

    hub.answer, hub.send = fail, cut
    pulled(env, f"{MODEL}:BF16")
    assert not any(failures.values())
    assert (snapshot(env) / FILE).read_bytes() == tiny_file()


def test_damaged_content_gets_no_name(hub, env):
    hub.content = lambda path, content: content[:-1] + b"\1" if path == FILE else content
    assert f"{FILE}: the hub lists the digest" in refusal(env, f"{MODEL}:BF16")
    assert present(env, MODEL) == set() if snapshot(env).exists() else True
    hub.content = lambda path, content: content
    pulled(env, f"{MODEL}:BF16")


@pytest.mark.parametrize("other, expected", [
    (lambda size: tiny_file(tensors=LARGE)[:size] + b"longer", "and sends a file of {more}: it was changed meanwhile; try again"),
    (lambda size: bytes(size - 5), "and sends a file of {less}: it was changed meanwhile; try again"),
    (lambda size: bytes(1000), "and sends a file of 1000: it was changed meanwhile; try again"),
    (lambda size: tiny_file(keys={"general.name": "Yoni"}, tensors=OTHER), "the hub lists the digest"),
    (lambda size: b"\1" * size, "the hub lists the digest"),
], ids=["longer", "shorter", "far shorter", "another header", "no header"])
def test_file_changed_behind_its_header_gets_no_name(hub, env, other, expected):
    first = tiny_file(tensors=LARGE)
    size, headers_sent = len(first), []

    def content(path, listed):
        return other(size) if path == FILE and headers_sent else listed

    def send(request, body):
        request.wfile.write(body)
        if "signature" in request.path and "Range" in request.headers:
            headers_sent.append(request.headers["Range"])

    hub.repositories[MODEL] = {FILE: first}
    hub.content, hub.send = content, send
    line = refusal(env, f"{MODEL}:BF16")
    assert f"{FILE}: " in line and expected.format(more=size + 6, less=size - 5) in line, line
    assert headers_sent[0] == f"bytes=0-{8 * MIB - 1}"
    blobs = repository_of(env, MODEL) / "blobs"
    assert list(blobs.iterdir()) == [], "neither a file nor a part of one is left"
    assert not snapshot(env).exists() or not list(snapshot(env).iterdir())
    # What the hub lists from now on is downloaded from its beginning.
    hub.repositories[MODEL], hub.content = {FILE: other(size)}, lambda path, listed: listed
    if other(size)[:4] == b"GGUF":
        pulled(env, f"{MODEL}:BF16")
        assert (snapshot(env) / FILE).read_bytes() == other(size)


def test_file_that_is_cached_is_taken_first(hub, env):
    hub.repositories[MODEL]["tiny-Q4_K_M.gguf"] = tiny_file(keys={"general.name": "Other"})
    pulled(env, f"{MODEL}:tiny-UD-BF16.gguf", "tiny-UD-BF16.gguf")
    hub.requests.clear()
    assert answer(env, "-m", MODEL, name=MODEL) != ""
    assert hub.requests == []
    pulled(env, MODEL, "tiny-Q4_K_M.gguf")


def test_folder_with_weights_beside_gguf_files_is_preferred(env):
    config = json.dumps({"architectures": ["NewForCausalLM"], "model_type": "new"}).encode()
    hub = hub_of({FILE: tiny_file(), "config.json": config, "model.safetensors": b"", "tokenizer.json": json.dumps(tiny_keys()).encode()})
    env = {**env, "HF_ENDPOINT": hub.url}
    assert "NewForCausalLM" in refusal(env, MODEL)
    pulled(env, f"{MODEL}:BF16")
    hub.stop()

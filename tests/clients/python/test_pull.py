"""Models of the hub: `host pull`, and servers that download what they lack, into the cache that Python's tools share."""
import json
import pathlib
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest
from hub import COMMIT, UNUSED, Hub, entry, tiny_model
from pulling import asked, environment, host_pull, present, python, refusal, repository_of, snapshot_of
from server import HOST, Server

MODEL = "org/tiny"
SHARDS = [f"model-{number:05}-of-00003.safetensors" for number in (1, 2, 3)]
SMALL = {"chat_template.jinja", "config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"}
NEEDED = SMALL | {"model.safetensors.index.json", *SHARDS}


@pytest.fixture
def hub():
    hub = Hub({MODEL: tiny_model()})
    yield hub
    hub.stop()


@pytest.fixture
def env(hub, tmp_path):
    return environment(hub, tmp_path)


def repository(env):
    return repository_of(env, MODEL)


def pull(env, *arguments):
    return host_pull(env, *(arguments or [MODEL]))


def pulled(env, *arguments):
    """Pulls, and checks that every file has the content that the hub has."""
    done = pull(env, *arguments)
    assert done.returncode == 0, done.stderr
    model = tiny_model()
    folder = pathlib.Path(done.stdout.strip().splitlines()[-1])
    assert folder == snapshot_of(env, MODEL)
    assert {path: (folder / path).read_bytes() == model[path] for path in NEEDED} == dict.fromkeys(NEEDED, True)
    assert not list((repository(env) / "blobs").glob("*.incomplete"))
    return done


def refused(env, *arguments):
    return refusal(env, *(arguments or [MODEL]))


def answers(env, *arguments):
    server = Server("--model", *arguments, env=env)
    text = asked(server, MODEL)
    server.stop()
    return text


def test_what_is_needed_comes_and_nothing_else(hub, env):
    pulled(env)
    assert present(env, MODEL) == NEEDED
    assert (repository(env) / "refs/main").read_text() == COMMIT
    assert all(path.is_symlink() for path in (snapshot_of(env, MODEL)).iterdir())
    assert hub.credentials() == {("127.0.0.1", "Bearer secret"), ("localhost", None)}
    hub.requests.clear()
    pulled(env)
    assert not hub.paths("/org/tiny"), "a second pull asks for the listing alone"


def test_server_downloads_at_its_first_start_only(hub, env, embedded):
    text = answers(env, MODEL)
    assert text == asked(embedded, "qwen3-tiny") != ""
    hub.stop()
    assert answers(env, MODEL) == text
    assert answers({**env, "HF_HUB_OFFLINE": "1"}, f"{MODEL}@{COMMIT}") == text


def test_half_a_snapshot_is_completed(hub, env):
    pulled(env)
    (snapshot_of(env, MODEL) / SHARDS[1]).resolve().unlink()
    assert answers(env, MODEL) != ""
    assert present(env, MODEL) == NEEDED
    shutil.rmtree(repository(env) / "blobs")
    offline = subprocess.run([HOST, "serve", "--model", MODEL], env={**env, "HF_HUB_OFFLINE": "1"}, capture_output=True, text=True)
    assert "HF_HUB_OFFLINE is set: unset it" in offline.stderr and offline.returncode == 1


def test_remote_engines_need_no_weights(hub, env, embedded):
    server = Server("--model", MODEL, "--engine", embedded.address, "--served-model-name", "qwen3-tiny", env=env)
    server.stop()
    assert present(env, MODEL) == SMALL


def test_revisions_have_references_of_their_own(hub, env):
    pulled(env, f"{MODEL}@refs/pr/1")
    pulled(env, f"{MODEL}@{COMMIT}")
    references = repository(env) / "refs"
    assert [str(path.relative_to(references)) for path in references.rglob("*") if path.is_file()] == ["refs/pr/1"]
    assert "no such revision" in pull(env, f"{MODEL}@v9").stderr


def test_dry_run_says_what_would_come(hub, env):
    done = pull(env, MODEL, "--dry-run")
    assert done.returncode == 0 and present(env, MODEL) == {"config.json", "model.safetensors.index.json"}
    rows = {line.split()[0]: line.split()[-1] for line in done.stdout.splitlines()[1:-1]}
    assert set(rows) == NEEDED and rows["config.json"] == "-" and rows[SHARDS[0]] != "-"
    assert f"at {COMMIT}" in done.stdout.splitlines()[-1]


def test_python_takes_our_cache_and_we_take_its(hub, env, tmp_path):
    pulled(env)
    hub.stop()
    ours = python(env, f"print(snapshot_download({MODEL!r}))", HF_HUB_OFFLINE="1").communicate()[0].strip()
    assert pathlib.Path(ours) == snapshot_of(env, MODEL)
    hub = Hub({MODEL: tiny_model()})
    env = {**env, "HF_ENDPOINT": hub.url, "HF_HOME": str(tmp_path / "other")}
    assert python(env, f"snapshot_download({MODEL!r})").wait() == 0
    hub.requests.clear()
    assert answers(env, MODEL) != ""
    assert hub.requests == []
    hub.stop()


def host(env, *arguments):
    return subprocess.run([HOST, *arguments], env=env, capture_output=True, text=True, timeout=300)


def python_finds(env):
    """Repositories in the cache, and their sizes, as Python's client counts them."""
    code = "import json, huggingface_hub\nrepos = huggingface_hub.scan_cache_dir().repos\nprint(json.dumps({one.repo_id: one.size_on_disk for one in repos}))"
    return json.loads(python(env, code).communicate()[0])


def test_cache_is_listed_and_emptied_whoever_filled_it(hub, env):
    assert python(env, f"snapshot_download({MODEL!r})").wait() == 0
    pulled(env, f"{MODEL}@refs/pr/1")
    listed = json.loads(host(env, "models", "--json").stdout)
    (model,) = listed["models"]
    assert (model["name"], model["state"], model["commit"], model["parser"]["name"]) == (MODEL, "whole", COMMIT, "qwen3")
    assert {file["path"]: file["bytes"] for file in model["files"]} == {path: len(content) for path, content in (tiny_model() | UNUSED).items()}
    assert python_finds(env) == {MODEL: listed["bytes"]}
    assert host(env, "rm", "--yes", MODEL).returncode == 0
    assert python_finds(env) == {} and json.loads(host(env, "models", "--json").stdout)["models"] == []
    pulled(env)


@pytest.mark.parametrize("downloads", [lambda env: subprocess.Popen([HOST, "pull", MODEL], env=env), lambda env: python(env, f"snapshot_download({MODEL!r})")])
def test_what_is_being_downloaded_is_not_removed(hub, env, downloads):
    reached, stop = hub.hang(lambda request: SHARDS[0] in request.path and request.command == "GET", 100)
    process = downloads(env)
    assert reached.wait(120)
    done = host(env, "rm", "--yes", MODEL)
    assert done.returncode == 1 and done.stderr == f"error: {MODEL}: another process downloads it: stop that, or wait for it\n", done
    process.kill()
    process.wait()
    stop.set()
    assert host(env, "rm", "--yes", MODEL).returncode == 0 and not repository(env).exists()


def test_processes_at_once_download_nothing_twice(hub, env):
    everyone, begun = threading.Barrier(3), set()

    def wait_for_all(request):
        # Each process asks for the commit first; none goes on before all have.
        if "/revision/" in request.path and request.command == "GET" and len(begun) < 3:
            begun.add(request.client_address)
            everyone.wait(120)

    hub.answer = wait_for_all
    other = python(env, f"snapshot_download({MODEL!r}, allow_patterns=['*.json', '*.safetensors', '*.jinja'], max_workers=2)")
    ours = [subprocess.Popen([HOST, "pull", MODEL], env=env, stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [process.wait(300) for process in (*ours, other)] == [0, 0, 0]
    sizes = {path: len(content) for path, content in tiny_model().items() if path.endswith("safetensors")}
    assert {path: hub.delivered()[path] for path in sizes} == sizes
    pulled(env)


def test_cut_downloads_go_on_where_they_ended(hub, env):
    def cut(request, content):
        half = len(content) // 2 if request.path.startswith("/org/tiny/model") and len(content) > 50_000 else len(content)
        request.wfile.write(content[:half])
        request.close_connection = half < len(content)

    hub.send = cut
    pulled(env)
    ranges = [headers["Range"] for _, path, headers in hub.requests if SHARDS[0] in path and "Range" in headers]
    starts = [int(part.split("=")[1].split("-")[0]) for part in ranges]
    assert len(starts) > 2 and starts == sorted(starts)


def test_killed_download_goes_on_in_the_next_process(hub, env):
    size = len(tiny_model()[SHARDS[0]])
    reached, stop = hub.hang(lambda request: SHARDS[0] in request.path and "Range" not in request.headers, size // 2)
    process = subprocess.Popen([HOST, "pull", MODEL], env=env)
    assert reached.wait(120)
    digest = entry(SHARDS[0], tiny_model()[SHARDS[0]])["lfs"]["oid"]
    partial = repository(env) / "blobs" / f"{digest}.sluice.incomplete"
    while not partial.exists() or partial.stat().st_size < size // 2:
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    stop.set()
    assert SHARDS[0] not in present(env, MODEL) and not (repository(env) / "refs").exists()
    hub.requests.clear()
    pulled(env)
    assert f"bytes={size // 2}-{size - 1}" in [headers.get("Range") for _, _, headers in hub.requests]


def test_delivery_that_ignores_ranges_starts_over(hub, env):
    cuts = []

    def cut_once(request, content):
        is_first = request.path.startswith("/org/tiny/model-00001") and not cuts
        cuts.append(request.path) if is_first else None
        request.wfile.write(content[:1000] if is_first else content)
        request.close_connection = is_first

    def without_range(request):
        if request.path.startswith("/org/tiny/") and "signature" in request.path:
            del request.headers["Range"]

    hub.send, hub.answer = cut_once, without_range
    pulled(env)
    assert cuts


def test_wrong_content_is_downloaded_again_once(hub, env):
    def damaged(times):
        left = [times]

        def content(path, content):
            if path == SHARDS[2] and left[0] > 0:
                left[0] -= 1
                return content[:-1] + bytes([content[-1] ^ 1])
            return content

        return content

    # Each download asks twice: where the file is, and for the file.
    hub.content = damaged(1000)
    line = refused(env)
    assert f"{SHARDS[2]}: the hub lists the digest" in line
    assert SHARDS[2] not in present(env, MODEL)
    hub.content = damaged(2)
    pulled(env)


def test_expired_addresses_and_short_failures_are_asked_for_again(hub, env):
    failures = {"/org/tiny/model-00002": [403], "/api/models/org/tiny/tree": [500, 503], "/org/tiny/resolve": [429]}

    def fail(request):
        for start, statuses in failures.items():
            if statuses and request.path.startswith(start):
                status = statuses.pop()
                return status, {"RateLimit": '"resolvers";r=0;t=1'} if status == 429 else {}
        return None

    hub.answer = fail
    pulled(env)
    assert not any(failures.values())


@pytest.mark.parametrize("status, code, message, expected", [
    (401, "RepoNotFound", "Repository not found", "neither a file or directory here nor a model on"),
    (404, "RepoNotFound", "Repository not found", "check the name, and what your token may read"),
    (403, "GatedRepo", "Access is restricted", "org/tiny is gated: accept its conditions at http://127.0.0.1"),
    (401, "", "Invalid credentials in Authorization header", "refuses the token (HF_TOKEN)"),
    (403, "", "Forbidden: pass a token with more rights", "refuses the token (HF_TOKEN)"),
    (451, "", "gone", "answers 451"),
])
def test_refusals_say_what_to_do(hub, env, status, code, message, expected):
    hub.answer = lambda request: (status, {"X-Error-Code": code, "X-Error-Message": message})
    line = refused(env)
    assert expected in line and "secret" not in line, line


def test_nothing_answers(hub, env):
    hub.stop()
    assert "no connection" in refused(env)
    assert "no http or https URL" in refused({**env, "HF_ENDPOINT": "ftp://x"})


def test_unknown_family_costs_its_configuration_alone(hub, env):
    config = json.loads(tiny_model()["config.json"])
    hub.repositories[MODEL]["config.json"] = json.dumps({**config, "model_type": "new", "architectures": ["NewForCausalLM"]}).encode()
    assert "NewForCausalLM" in refused(env)
    assert hub.paths("/org/tiny/resolve") == [f"/org/tiny/resolve/{COMMIT}/config.json"]
    assert pull(env, MODEL, "--no-weights").returncode == 0


def test_other_forms_of_weights_are_refused(hub, env):
    files = hub.repositories[MODEL]
    for name in [*SHARDS, "model.safetensors.index.json"]:
        del files[name]
    assert "no *.safetensors there" in refused(env)
    del files["config.json"]
    assert "no config.json there" in refused(env)
    files["tiny-Q4_K_M.gguf"] = b"GGUF"
    assert "tiny-Q4_K_M.gguf: truncated at byte 4 of 4" in refused(env)


def listed(**changes):
    return lambda entry: {**entry, **changes} if entry["path"] == SHARDS[0] else entry


def index_of(name):
    return {"model.safetensors.index.json": json.dumps({"weight_map": {"x": name}}).encode()}


@pytest.mark.parametrize("lie, expected", [
    ({"entry": listed(lfs={"oid": "a" * 64, "size": 10})}, "more than the 10 bytes that the hub lists come"),
    ({"entry": listed(lfs={"oid": "a" * 64, "size": 10**19})}, "HF_HUB_CACHE names another folder"),
    ({"entry": lambda entry: {**entry, "size": 10**12}}, "config.json: it has 1000 GB, which no such file has"),
    ({"entry": listed(lfs={"oid": "../../../evil", "size": 10})}, "has no digest"),
    ({"entry": listed(lfs=None, oid="x" * 40)}, "has no digest"),
    ({"files": index_of("../../evil")}, "is not the name of a file beside it"),
    ({"files": index_of("other.safetensors")}, "its index names other.safetensors, which is missing"),
    ({"files": {"model.safetensors.index.json": b"["}}, "no index of weights"),
    ({"answer": {"/revision/": (200, {}, b'{"sha": "../../evil"}')}}, "it names no commit"),
    ({"answer": {"/revision/": (200, {}, b"<html>")}}, "not the expected JSON"),
    ({"answer": {"/revision/": (302, {"Location": "file:///etc/passwd"})}}, "it redirects to file"),
    ({"answer": {"/revision/": (302, {"Location": "/api/models/org/tiny/revision/main"})}}, "more than 8 redirects"),
    ({"answer": {"/revision/": (302, {"Location": "http://HUB@localhost:1/x"})}}, "an address with a name of a user"),
    ({"answer": {"/tree/": (200, {"Link": '<http://localhost:1/x>; rel="next"'}, b"[]")}}, "is elsewhere"),
    ({"answer": {"/tree/": (200, {"Link": '</api/models/org/tiny/tree/main>; rel="next"'}, b"[]")}}, "more than 100 pages"),
    ({"answer": {"model-00001": (206, {"Content-Range": "bytes 7-9/10"}, b"abc")}}, "bytes 7-9/10 came"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_hub_that_lies_is_refused(hub, env, lie, expected):
    hub.entry = lie.get("entry", hub.entry)
    hub.repositories[MODEL].update(lie.get("files", {}))
    hub.answer = lambda request: next((answer for part, answer in lie.get("answer", {}).items() if part in request.path), None)
    assert expected in refused(env)
    strays = [path for path in pathlib.Path(env["HF_HOME"]).rglob("*evil*")]
    assert strays == []


@pytest.mark.parametrize("path, reason", [
    ("/revision/", "no whole answer in time"),
    ("model-00001", "less than 65536 bytes came in 1 s"),
])
def test_a_hub_that_drips_is_given_up(hub, env, path, reason):
    """A byte ends each silence, and none of them the wait."""
    dripped = []

    def drip(request, content):
        if path not in request.path:
            return request.wfile.write(content)
        for byte in content:
            dripped.append(byte)
            request.wfile.write(bytes([byte]))
            request.wfile.flush()
            time.sleep(0.05)

    hub.send = drip
    line = refused({**env, "HF_HUB_DOWNLOAD_TIMEOUT": "1"})
    assert reason in line and dripped, line


def test_a_hub_that_says_nothing_is_given_up(env):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        line = refused({**env, "HF_ENDPOINT": address, "HF_HUB_DOWNLOAD_TIMEOUT": "1"})
    assert line.startswith(f"error: {MODEL}: {address}: no answer in time; what came so far is kept: try again, or ")
    line = refused({**env, "HF_HUB_DOWNLOAD_TIMEOUT": "soon"})
    assert line == "error: HF_HUB_DOWNLOAD_TIMEOUT: expected a number of seconds"

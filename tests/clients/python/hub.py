"""A hub on this machine that behaves as Hugging Face's does: it lists files by pages, sends small ones itself, and redirects large ones to
another origin, which sends ranges. What it does wrong is a test's choice."""
import copy
import hashlib
import http.server
import json
import re
import struct
import threading
import urllib.parse

from server import ROOT

COMMIT = "0123456789abcdef0123456789abcdef01234567"
# What a model's repository has besides: nothing of it may be downloaded.
UNUSED = {name: b"never read" for name in [
    "README.md", ".gitattributes", "pytorch_model.bin", "onnx/model.onnx", "original/consolidated.00.pth", "metal/model.bin", "vocab.json"]}


def tiny_model(shards=3):
    """Files of a small model, its weights cut into several."""
    folder = ROOT / "host/models/qwen3-tiny"
    names = ["config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja"]
    files = {name: (folder / name).read_bytes() for name in names}
    weights = (folder / "model.safetensors").read_bytes()
    length = struct.unpack("<Q", weights[:8])[0]
    header = json.loads(weights[8:8 + length])
    header.pop("__metadata__", None)
    tensors = sorted(header)
    index = {}
    for number in range(shards):
        name = f"model-{number + 1:05}-of-{shards:05}.safetensors"
        head, data = {}, b""
        for tensor in tensors[number::shards]:
            begin, end = header[tensor]["data_offsets"]
            head[tensor] = {**header[tensor], "data_offsets": [len(data), len(data) + end - begin]}
            data += weights[8 + length + begin:8 + length + end]
            index[tensor] = name
        text = json.dumps(head).encode()
        text += b" " * (-len(text) % 8)
        files[name] = struct.pack("<Q", len(text)) + text + data
    files["model.safetensors.index.json"] = json.dumps({"weight_map": index}).encode()
    return files


class Hub:
    """The hub at `http://127.0.0.1`, and what delivers its large files at `http://localhost`."""

    def __init__(self, repositories):
        self.repositories = {name: {**files, **UNUSED} for name, files in repositories.items()}
        self.requests, self.sent, self.lock = [], {}, threading.Lock()
        # A test's choices: an answer instead of the usual one, bytes of a file, entries of a listing, and what happens
        # while a file is sent.
        self.answer = lambda request: None
        self.content = lambda path, content: content
        self.entry = lambda entry: entry
        self.send = lambda request, content: request.wfile.write(content)
        self.servers = [self._listen("127.0.0.1", Resolver), self._listen("localhost", Delivery)]
        self.url, self.delivery = (f"http://{server.server_name}:{server.server_port}" for server in self.servers)

    def _listen(self, name, handler):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type(handler.__name__, (handler,), {"hub": self}))
        server.server_name, server.daemon_threads = name, True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        return server

    def stop(self):
        for server in self.servers:
            server.shutdown()
            server.server_close()

    def file(self, repository, path):
        return self.content(path, self.repositories[repository][path])

    def paths(self, start=""):
        """Paths of the requests whose path begins with `start`."""
        return [path for _, path, _ in self.requests if path.startswith(start)]

    def credentials(self):
        """Who was asked with which credentials."""
        return {(headers["Host"].split(":")[0], headers.get("Authorization")) for _, _, headers in self.requests}

    def hang(self, is_hung, size):
        """Sends the first `size` bytes of what such a request asks for. Returns two events: that they were sent, and that the request may end."""
        reached, stop = threading.Event(), threading.Event()

        def send(request, content):
            if not is_hung(request):
                request.wfile.write(content)
                return
            request.wfile.write(content[:size])
            request.wfile.flush()
            reached.set()
            stop.wait(120)
            request.close_connection = True

        self.send = send
        return reached, stop

    def delivered(self):
        """Number of bytes that were sent of each large file."""
        return dict(self.sent)


class Request(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        with self.hub.lock:
            self.hub.requests.append((self.command, self.path, copy.copy(self.headers)))
        answer = self.hub.answer(self)
        try:
            self.reply(*answer) if answer else self.route(urllib.parse.urlsplit(self.path))
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def reply(self, status, headers, body=b""):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.hub.send(self, body)

    def json(self, value, **headers):
        self.reply(200, {"Content-Type": "application/json", **headers}, json.dumps(value).encode())

    def error(self, status, code, message):
        self.reply(status, {"X-Error-Code": code, "X-Error-Message": message})


class Resolver(Request):
    """The hub itself."""

    def route(self, url):
        match = re.fullmatch(r"/(?:api/models/)?([^/]+/[^/]+)/(revision|tree|resolve)/([^/]+)(?:/(.+))?", url.path)
        name, kind, revision, path = match.groups() if match else (url.path, "", "", "")
        files = self.hub.repositories.get(name)
        if files is None:
            return self.error(401, "RepoNotFound", "Repository not found")
        if urllib.parse.unquote(revision) not in ("main", "v1", "refs/pr/1", COMMIT):
            return self.error(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        if kind == "revision":
            return self.json({"id": name, "sha": COMMIT, "siblings": [{"rfilename": path} for path in files]})
        if kind == "tree":
            return self.listing(name, files, int(urllib.parse.parse_qs(url.query).get("cursor", ["0"])[0]))
        return self.resolve(name, path)

    def listing(self, name, files, cursor):
        """A page of four entries."""
        paths = sorted(files)
        entries = [self.hub.entry(entry(path, self.hub.repositories[name][path])) for path in paths[cursor:cursor + 4]]
        following = f"{self.hub.url}{urllib.parse.urlsplit(self.path).path}?cursor={cursor + 4}"
        self.json(entries, **({"Link": f'<{following}>; rel="next"'} if cursor + 4 < len(paths) else {}))

    def resolve(self, name, path):
        if path not in self.hub.repositories[name]:
            return self.error(404, "EntryNotFound", "Entry not found")
        listed, content = entry(path, self.hub.repositories[name][path]), self.hub.file(name, path)
        headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{listed.get("lfs", listed)["oid"]}"'}
        if "lfs" not in listed:
            return self.reply(200, headers, content)
        linked = {"X-Linked-Etag": headers["ETag"], "X-Linked-Size": str(len(content))}
        self.reply(302, {**headers, **linked, "Location": f"{self.hub.delivery}/{name}/{path}?signature=1"})


class Delivery(Request):
    """What large files come from: another origin, which needs no token."""

    def route(self, url):
        owner, name, path = url.path[1:].split("/", 2)
        content = self.hub.file(f"{owner}/{name}", path)
        size, start, end = len(content), 0, len(content)
        if match := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")):
            start, end = int(match[1]), min(int(match[2] or size - 1) + 1, size)
            if start >= size:
                return self.reply(416, {"Content-Range": f"bytes */{size}"})
        part = {"Content-Range": f"bytes {start}-{end - 1}/{size}"} if match else {}
        with self.hub.lock:
            self.hub.sent[path] = self.hub.sent.get(path, 0) + end - start
        self.reply(206 if match else 200, part, content[start:end])


def entry(path, content):
    """A file as the hub lists it: large ones, and weights, have a SHA-256."""
    git = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    listed = {"type": "file", "oid": git, "size": len(content), "path": path}
    if path.endswith((".safetensors", ".gguf", ".bin", ".onnx", ".pth", "tokenizer.json")):
        listed["lfs"] = {"oid": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 130}
    return listed

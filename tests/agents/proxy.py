"""HTTP proxy between an agent and the server, which records requests and answers, also of WebSockets, and can cut one stream."""
import dataclasses
import http.client
import http.server
import json
import socket
import threading
import urllib.parse

import websocket_frames

HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "host"}


@dataclasses.dataclass
class Exchange:
    """One request and the part of its answer that was passed on."""

    path: str
    request: dict | None
    status: int = 0
    answer: bytes = b""
    cut: bool = False

    def events(self):
        """Returns the objects of the stream's `data:` lines."""
        lines = [line[6:] for line in self.answer.decode().splitlines() if line.startswith("data: ")]
        return [json.loads(line) for line in lines if line != "[DONE]"]


class Proxy:
    """The agent connects to `address`. The first answer that contains `cut_at`, if set, is cut off after it; `rewrite` returns the body that is
    sent on instead of a request's."""

    def __init__(self, target, cut_at=None, rewrite=None):
        self.target = urllib.parse.urlsplit(target).netloc
        self.cut_at = cut_at
        self.rewrite = rewrite
        self.exchanges = []
        self.gets = []  # exchanges without a body, such as the list of models
        self.lock = threading.Lock()
        proxy = self

        class Handler(_Handler):
            owner = proxy

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def requests(self, path):
        """Returns the bodies of requests to a path, whose query is ignored."""
        return [exchange.request for exchange in self.exchanges if exchange.path.split("?")[0] == path]

    def take_cut(self, answer):
        """Returns the number of bytes after which to cut this answer; None for all but the first that contains `cut_at`."""
        with self.lock:
            if self.cut_at is None or self.cut_at not in answer:
                return None
            end = answer.index(self.cut_at) + len(self.cut_at)
            self.cut_at = None
            return end

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner = None

    def do_GET(self):
        if self.headers.get("upgrade") == "websocket":
            self.relay_socket()
        else:
            self.relay(None)

    def do_POST(self):
        self.relay(self.rfile.read(int(self.headers["content-length"])))

    def relay(self, body):
        exchange = Exchange(self.path, json.loads(body) if body else None)
        with self.owner.lock:
            (self.owner.exchanges if body else self.owner.gets).append(exchange)
        if body and self.owner.rewrite:
            body = json.dumps(self.owner.rewrite(json.loads(body))).encode()
        upstream = http.client.HTTPConnection(self.owner.target, timeout=120)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP}
        upstream.request(self.command, self.path, body, headers)
        answer = upstream.getresponse()
        exchange.status = answer.status
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in HOP:
                self.send_header(name, value)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            self.pass_on(answer, exchange)
        except OSError:  # the agent disconnected
            self.close_connection = True
        upstream.close()

    def pass_on(self, answer, exchange):
        while piece := answer.read1(65536):
            whole = exchange.answer + piece
            cut = self.owner.take_cut(whole)
            if cut is not None:
                whole = whole[:cut]
            piece = whole[len(exchange.answer) :]
            exchange.answer = whole
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            if cut is not None:
                exchange.cut = self.close_connection = True
                return  # closed without the last chunk; a reset could discard what the agent hasn't read yet
        self.wfile.write(b"0\r\n\r\n")

    def relay_socket(self):
        """Passes a WebSocket on until one side closes it; each message of the agent is an exchange of its own."""
        host, port = self.owner.target.split(":")
        upstream = socket.create_connection((host, int(port)))
        lines = [f"{name}: {value}" for name, value in self.headers.items() if name.lower() != "host"]
        head = [f"GET {self.path} HTTP/1.1", f"host: {self.owner.target}", *lines, "", ""]
        upstream.sendall("\r\n".join(head).encode())
        back = (upstream, self.connection, self.answered, True)
        answers = threading.Thread(target=websocket_frames.pass_on, args=back, daemon=True)
        answers.start()
        websocket_frames.pass_on(self.connection, upstream, self.asked, False)
        answers.join()
        self.close_connection = True

    def asked(self, text):
        with self.owner.lock:
            self.owner.exchanges.append(Exchange(self.path, json.loads(text), status=101))

    def answered(self, text):
        self.owner.exchanges[-1].answer += b"data: " + text + b"\n"

    def log_message(self, *_):
        pass

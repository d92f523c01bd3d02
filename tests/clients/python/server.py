"""Starts the server under test as an operator does, and stops it."""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[3]
HOST = os.environ.get("SLUICE_HOST", str(ROOT / "target/release/host"))


class Server:
    """`host serve` on a free port, with every stream checked against the event grammar."""

    def __init__(self, *arguments, env=None):
        self.log = tempfile.TemporaryFile("w+")
        command = [HOST, "serve", "--listen", "127.0.0.1:0", "--check-streams", *arguments]
        if "--store" not in arguments:
            command += ["--store", "memory"]
        env = {**os.environ, **(env or {})}
        self.process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.parser = ""
        self.address = self._address()

    def _address(self):
        for line in self.process.stdout:
            if line.startswith("parser "):
                self.parser = line.removeprefix("parser ").strip()
            if match := re.match(r"address\s+(http://\S+)", line):
                return match[1]
        self.log.seek(0)
        raise RuntimeError(f"the server did not start:\n{self.log.read()}")

    def metric(self, name, label=""):
        """Returns the sum of a metric over its series, or over those whose labels contain `label` (`name="value"`)."""
        with urllib.request.urlopen(self.address + "/metrics", timeout=10) as answer:
            text = answer.read().decode()
        rows = re.findall(rf"^{name}({{[^}}]*}})? (\S+)$", text, re.M)
        return sum(float(value) for labels, value in rows if label in labels)

    def stop(self):
        """Stops the server; fails if a stream broke the event grammar or the server panicked."""
        violations = self.metric("sluice_stream_violations_total")
        self.process.terminate()
        assert self.process.wait(60) == 0
        self.log.seek(0)
        log = self.log.read()
        assert violations == 0, log
        assert "panicked" not in log, log


def replay_file(folder, rules):
    """Writes a replay file and returns the engine argument for it."""
    path = pathlib.Path(folder) / "replay.json"
    path.write_text(json.dumps({"rules": rules}))
    return f"replay:{path}"

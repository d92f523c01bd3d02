"""The pages: every link leads somewhere, the index names every page, and every `console` block does what it shows."""
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import time

import pytest
from hub import Hub, tiny_model
from server import HOST, ROOT
from tool_servers import free_port

PAGES = [ROOT / name for name in subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()]
BLOCK = re.compile(r"^( *)```console\n(.*?)^ *```$", re.M | re.S)
WITH_COMMANDS = [page for page in PAGES if BLOCK.search(page.read_text())]
# Time for a command, which may compile parsers on a slow machine.
PATIENCE = 60


def without_code(text):
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^ *```.*?^ *```$", "", text, flags=re.M | re.S))


def anchors(page):
    """Names by which headings can be linked, as GitHub and mdBook make them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_link_leads_somewhere():
    wrong = []
    for page in PAGES:
        for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text())):
            path, _, anchor = target.partition("#")
            place = (page.parent / path).resolve() if path else page
            if "://" in target or target.startswith("mailto:"):
                continue
            if not place.exists() or (anchor and place.suffix == ".md" and anchor not in anchors(place)):
                wrong.append(f"{page.relative_to(ROOT)}: {target}")
    assert wrong == []


def test_the_index_names_every_page():
    folder = ROOT / "docs"
    linked = {(folder / target.split("#")[0]).resolve() for target in re.findall(r"\]\(([^)\s]+)\)", (folder / "README.md").read_text())}
    pages = [page for page in PAGES if page.is_relative_to(folder) and page.name != "README.md" and "adr" not in page.parts]
    assert [str(page.relative_to(ROOT)) for page in pages if page.resolve() not in linked] == []


def test_the_book_has_every_page():
    mdbook = pathlib.Path(sys.executable).with_name("mdbook")
    made = subprocess.run([ROOT / "docs/book.sh"], env={**os.environ, "MDBOOK": str(mdbook)}, capture_output=True, text=True, check=True)
    book = pathlib.Path(made.stdout.splitlines()[-1]).parent
    name = lambda page: "index.html" if page.name == "README.md" else page.stem + ".html"
    assert [page for page in PAGES if not (book / page.relative_to(ROOT)).with_name(name(page)).exists()] == []


def files(page):
    """Blocks whose first line names a file: `toml sluice.toml`."""
    return re.findall(r"^```\w+ (\S+)\n(.*?)^```$", page.read_text(), re.M | re.S)


def commands(page):
    """Each command of a page with its line and the output that is shown."""
    text = page.read_text()
    for block in BLOCK.finditer(text):
        indent, lines = len(block[1]), block[2].splitlines()
        line, shown = text[:block.start()].count("\n") + 2, []
        for number, content in enumerate([line[indent:] for line in lines]):
            if content.startswith("$ "):
                shown.append([line + number, content[2:], []])
            elif shown and shown[-1][1].endswith("\\") and not shown[-1][2]:
                shown[-1][1] = shown[-1][1][:-1] + content.strip()
            else:
                shown[-1][2].append(content)
        yield from shown


def pattern(lines):
    """Output as it is shown: `…` stands for anything in its line, and for any lines where it is alone."""
    parts = [r"(?:.*\n)*?" if line.strip() == "…" else ".*?".join(map(re.escape, line.rstrip().split("…"))) + r"\s*?\n" for line in lines]
    return re.compile("".join(parts))


class Shell:
    """A shell in an empty folder, where `sluice` is the repository."""

    def __init__(self, folder, **variables):
        (folder / "sluice").symlink_to(ROOT)
        programs = folder / ".programs"
        programs.mkdir()
        (programs / "host").symlink_to(HOST)
        env = {name: value for name, value in os.environ.items() if not name.startswith(("SLUICE", "RUST_LOG", "HF_", "XDG_"))}
        env = {**env, "HOME": str(folder), "PATH": f"{programs}:{os.environ['PATH']}", "CARGO_HOME": os.environ.get("CARGO_HOME", os.path.expanduser("~/.cargo"))}
        env["RUSTUP_HOME"] = os.environ.get("RUSTUP_HOME", os.path.expanduser("~/.rustup"))
        self.process = subprocess.Popen(["bash"], cwd=folder, env={**env, **variables}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        self.output = ""

    def read_until(self, is_done):
        deadline = time.monotonic() + PATIENCE
        while not is_done(self.output):
            ready, _, _ = select.select([self.process.stdout], [], [], max(deadline - time.monotonic(), 0))
            more = os.read(self.process.stdout.fileno(), 1 << 16) if ready else b""
            assert more, f"no more than this came:\n{self.output}"
            self.output += more.decode()

    def run(self, command, expected):
        """Runs a command; one in the background goes on, and its output so far counts."""
        if command.rstrip().endswith("&"):
            self.process.stdin.write(f"{{ {command} }} < /dev/null\n".encode())
            self.process.stdin.flush()
            self.read_until(expected.match)
            self.output = self.output[expected.match(self.output).end():]
            return
        self.process.stdin.write(f"{{ {command}\n}} < /dev/null\nprintf '\\n=%s=\\n' $?\n".encode())
        self.process.stdin.flush()
        end = re.compile(r"\n?=(\d+)=\n\Z")
        self.read_until(end.search)
        shown, status = end.sub("", self.output) + "\n", int(end.search(self.output)[1])
        self.output = ""
        assert expected.fullmatch(shown.rstrip("\n") + "\n" if shown.strip() else ""), f"it says:\n{shown}"
        # A command that is shown to fail says so.
        assert status == 0 or re.search(r"error|FAIL", shown), f"exit status {status}"

    def stop(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_do_what_the_page_shows(page, tmp_path):
    hub = Hub({"Qwen/Qwen3-0.6B": tiny_model()})
    ports = {port: str(free_port()) for port in ["8000", "8001", "8002", "9000"]}
    # Servers whose command names no port listen on another one, too.
    (tmp_path / ".sluice.toml").write_text(f"listen = {ports['8000']}\n")
    shell = Shell(tmp_path, HF_ENDPOINT=hub.url, SLUICE_CONFIG=str(tmp_path / ".sluice.toml"))

    def local(text):
        return re.sub(r"(?<=[:=\s])(8000|8001|8002|9000)(?!\d)", lambda match: ports[match[1]], text)

    for name, content in files(page):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(local(content))
        (tmp_path / name).chmod(0o600)
    try:
        for line, command, lines in commands(page):
            try:
                shell.run(local(command), pattern([local(line) for line in lines]))
            except AssertionError as error:
                raise AssertionError(f"{page.relative_to(ROOT)}:{line}: $ {command}\n{error}") from None
    finally:
        shell.stop()
        hub.stop()

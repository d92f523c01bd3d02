"""Packs a staged tree as a wheel: `wheel.py STAGE ABOUT VERSION PLATFORM DIR`. pip puts the binary, manual and completions where they are found."""
import base64
import hashlib
import os
import pathlib
import sys
import time
import zipfile

METADATA = """\
Metadata-Version: 2.4
Name: sluice
Version: {version}
Summary: LLM inference server whose output parsers are WebAssembly components
License-Expression: MIT OR Apache-2.0
{licences}
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{about}"""
WHEEL = "Wheel-Version: 1.0\nGenerator: sluice\nRoot-Is-Purelib: false\nTag: py3-none-{platform}\n"


def contents(stage, about, version, platform):
    """(name in the wheel, mode, bytes) of every file but the record."""
    data, info = f"sluice-{version}.data", f"sluice-{version}.dist-info"
    yield f"{data}/scripts/sluice", 0o755, (stage / "bin/sluice").read_bytes()
    for folder in "man", "bash-completion", "zsh", "fish":
        for file in sorted((stage / "share" / folder).rglob("*")):
            if file.is_file():
                yield f"{data}/data/{file.relative_to(stage)}", 0o644, file.read_bytes()
    licences = sorted((stage / "share/doc/sluice").glob("LICENSE-*"))
    for file in licences:
        yield f"{info}/licenses/{file.name}", 0o644, file.read_bytes()
    named = "\n".join(f"License-File: {file.name}" for file in licences)
    metadata = METADATA.format(version=version, licences=named, about=about.read_text())
    yield f"{info}/METADATA", 0o644, metadata.encode()
    yield f"{info}/WHEEL", 0o644, WHEEL.format(platform=platform).encode()


def main(stage, about, version, platform, folder):
    date = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
    record, lines = f"sluice-{version}.dist-info/RECORD", []
    path = pathlib.Path(folder) / f"sluice-{version}-py3-none-{platform}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:

        def add(name, mode, content):
            entry = zipfile.ZipInfo(name, date)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, (0o100000 | mode) << 16
            wheel.writestr(entry, content)

        for name, mode, content in contents(pathlib.Path(stage), pathlib.Path(about), version, platform):
            add(name, mode, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(content)}\n")
        add(record, 0o644, "".join([*lines, f"{record},,\n"]))


if __name__ == "__main__":
    main(*sys.argv[1:])

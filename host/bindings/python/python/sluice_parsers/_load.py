"""Finds parsers: shipped ones, files, and those of installed packages."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from . import _native
from ._parser import Parser, Tokenizer

#: Where packages name their parsers: the value is a path of a file, or its bytes.
GROUP = "sluice.parsers"


def _find(parser: str | os.PathLike[str] | bytes) -> tuple[str, bytes | None]:
    """What the extension looks for: a name, a path with a separator, or bytes and a name for messages."""
    if isinstance(parser, bytes):
        return "(bytes)", parser
    path = os.fspath(parser)
    if not isinstance(parser, str) or os.sep in path or path.endswith((".wasm", ".json")):
        return os.path.abspath(path), None
    for entry in entry_points(group=GROUP, name=path):
        return _brought(entry)
    return path, None


def _brought(entry: EntryPoint) -> tuple[str, bytes | None]:
    """What an installed package brings, as `_find` says it."""
    said = f"parser {entry.name}: the entry point {entry.value} of package {entry.dist.name if entry.dist else '(unknown)'}"
    try:
        found = entry.load()
    except Exception as error:
        raise _native.ParserError(f"{said} can't be loaded: {error}") from error
    if isinstance(found, bytes):
        return entry.name, found
    if isinstance(found, (str, os.PathLike)):
        return os.path.abspath(os.fspath(found)), None
    raise _native.ParserError(f"{said} is a {type(found).__name__}: it has to be a file's path, or a component's bytes")


def names() -> list[str]:
    """Names that `load` knows: the shipped parsers and tables, and those of installed packages."""
    return sorted({*_native.names(), *(entry.name for entry in entry_points(group=GROUP))})


def load(
    parser: str | os.PathLike[str] | bytes,
    *,
    options: Mapping[str, str] | None = None,
    cache: str | os.PathLike[str] | None = None,
) -> Parser:
    """Loads a parser: a name (that of an installed package's entry point `sluice.parsers`, else that of a shipped one), the path of a component
    (`.wasm`) or of a table (`.json`), or a component's bytes. `options` are settings of the parser. `cache` is a folder for compiled code,
    without which a parser is compiled at each start of Python (a fifth of a second).

    Other threads run meanwhile. Raises `ParserError`.
    """
    name, data = _find(parser)
    folder = None if cache is None else os.path.abspath(os.fspath(cache))
    return Parser(_native.load(name, data, list((options or {}).items()), folder))


def load_response_template(
    source: Tokenizer | Mapping[str, Any] | str, *, cache: str | os.PathLike[str] | None = None
) -> Parser:
    """Loads the parser that a `response_template` describes: the template itself, as JSON or a dictionary, or a tokenizer that has one.

    Raises `ParserError` if it isn't one, and `LookupError` if the tokenizer has none.
    """
    template: Any = source
    if not isinstance(source, (str, Mapping)):
        template = getattr(source, "response_template", None)
        template = template or getattr(source, "init_kwargs", {}).get("response_template")
        if template is None:
            raise LookupError("the tokenizer has no response_template: load a parser by its name")
    text = template if isinstance(template, str) else json.dumps(template)
    return load(_native.TABLE_PARSER, options={_native.TABLE_OPTION: text}, cache=cache)


def test(
    parser: str | os.PathLike[str] | bytes, cases: str | os.PathLike[str], *, seed: int = 0
) -> dict[str, Any]:
    """Checks every property of a parser over a folder of cases, as `host parser test --json` does, but for what the protocols make of its turns.
    Returns the report; its `passed` says whether all are kept. The same seed cuts the turns alike.

    Other threads run meanwhile. Raises `ParserError` if the parser or a case can't be used, or there is no case.
    """
    name, data = _find(parser)
    report: dict[str, Any] = json.loads(_native.test(name, data, os.fspath(cases), seed))
    return report

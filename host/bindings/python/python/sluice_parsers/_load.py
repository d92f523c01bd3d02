"""Finds parsers: shipped ones, files, and those of installed packages."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Any

from . import _native
from ._bound import Bound, Tokenizer, added_tokens, decoder

#: Where packages name their parsers: the value is a path of a file, or its bytes.
GROUP = "sluice.parsers"


class Parser:
    """A loaded parser, for any number of streams and threads."""

    def __init__(self, native: _native.Parser) -> None:
        self._native = native

    @property
    def name(self) -> str:
        """Name, such as `qwen3`."""
        return self._native.name

    @property
    def version(self) -> str:
        """Version of the parser itself."""
        return self._native.version

    @property
    def contract(self) -> str | None:
        """Version of the contract by which it was loaded."""
        return self._native.contract

    @property
    def digest(self) -> str:
        """SHA-256 of the component (and of the table behind it) in lower-case hex."""
        return self._native.digest

    @property
    def models(self) -> list[str]:
        """`model_type` values of `config.json` that it serves."""
        return self._native.models

    @property
    def markers(self) -> list[str]:
        """Literals that carry structure, such as `<think>`."""
        return self._native.markers

    @property
    def stop_markers(self) -> list[str]:
        """The markers that end the model's turn."""
        return self._native.stop_markers

    @property
    def reasoning_end(self) -> str | None:
        """Text that ends reasoning, if it can be ended from outside."""
        return self._native.reasoning_end

    def bind(self, tokenizer: Tokenizer | Mapping[str, int] | None = None) -> Bound:
        """Binds the parser to a tokenizer, of transformers or tokenizers, whose added tokens markers are then found by; or to the ids of
        literals. With `None` they are found in the text alone, and text that a user had the model repeat may be one.

        Raises `ParserError` if the parser's markers can't be used.
        """
        added = added_tokens(tokenizer)
        ids = {marker: added[marker] for marker in self.markers if marker in added}
        return Bound(self, self._native.bind_ids(ids, decoder(tokenizer)))

    def __repr__(self) -> str:
        return repr(self._native)


def _find(parser: str | os.PathLike[str] | bytes) -> tuple[str, bytes | None]:
    """What the extension looks for: a name, a path with a separator, or bytes and a name for messages."""
    if isinstance(parser, bytes):
        return "(bytes)", parser
    path = os.fspath(parser)
    if not isinstance(parser, str) or os.sep in path or path.endswith((".wasm", ".json")):
        return os.path.abspath(path), None
    for entry in entry_points(group=GROUP, name=path):
        found = entry.load()
        return (path, found) if isinstance(found, bytes) else (os.path.abspath(os.fspath(found)), None)
    return path, None


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

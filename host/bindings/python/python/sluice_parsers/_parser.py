"""Parsers, and parsers bound to a tokenizer: what its added tokens are, how it decodes, and how tools are written."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol

from . import _native

#: How many calls the model may write in a turn. What is more is dropped, or ends the turn.
Calls = Literal["any", "one", "none"]
Tools = Iterable[Any] | Literal["any"]
#: A kind of items whose white space at the ends is left out.
Trimmed = Literal["reasoning", "message"]


class Tokenizer(Protocol):
    """A tokenizer of transformers, or of tokenizers."""

    def decode(self, ids: list[int], *, skip_special_tokens: bool = ...) -> str: ...


def added_tokens(tokenizer: Tokenizer | Mapping[str, int] | None) -> Mapping[str, int]:
    """Ids of the tokenizer's added tokens. Others may be spelt by several tokens, and don't mark anything."""
    if tokenizer is None or isinstance(tokenizer, Mapping):
        return tokenizer or {}
    if hasattr(tokenizer, "get_added_vocab"):
        added: Mapping[str, int] = tokenizer.get_added_vocab()
        return added
    if hasattr(tokenizer, "get_added_tokens_decoder"):
        return {token.content: id for id, token in tokenizer.get_added_tokens_decoder().items()}
    raise TypeError(f"{type(tokenizer).__name__} is no tokenizer of transformers or tokenizers: give the ids of {{literal: id}}")


def decoder(tokenizer: Tokenizer | Mapping[str, int] | None) -> Callable[[list[int]], str] | None:
    """The function that returns the text of ids, if the tokenizer has one."""
    if tokenizer is None or isinstance(tokenizer, Mapping):
        return None
    return lambda ids: tokenizer.decode(ids, skip_special_tokens=False)


def _as_dict(tool: Any) -> Mapping[str, Any]:
    if isinstance(tool, Mapping):
        return tool
    if hasattr(tool, "model_dump"):
        dumped: Mapping[str, Any] = tool.model_dump(exclude_none=True)
        return dumped
    raise TypeError(f"a tool is a dictionary as in OpenAI's or Anthropic's requests, not {type(tool).__name__}")


def tool_values(tool: Any) -> tuple[str, bool, str]:
    """Name of a tool, whether it is a custom one, and its arguments' schema; from Chat Completions, Responses or Messages."""
    outer = _as_dict(tool)
    kind = outer.get("type", "function")
    inner = _as_dict(outer.get(kind) or outer)
    name = inner.get("name") or outer.get("name")
    if not isinstance(name, str):
        raise ValueError(f"a tool without a name: {dict(outer)!r}")
    schema = inner.get("parameters") or inner.get("input_schema") or {}
    return name, kind == "custom", json.dumps(schema)


def _start_values(
    tools: Tools,
    prompt: str,
    calls: Calls,
    options: Mapping[str, str] | None,
    trim: Collection[Trimmed] | None,
    earlier_calls: int | None,
    remainder: bool = False,
) -> _native.StartValues:
    if isinstance(tools, str):
        if tools != "any":
            raise ValueError(f"tools={tools!r}: it is a list of tools, or \"any\"")
        declared = None
    else:
        declared = [tool_values(tool) for tool in tools]
    kinds = None if trim is None else [str(kind) for kind in trim]
    return _native.StartValues(declared, prompt, calls, list((options or {}).items()), kinds, earlier_calls, remainder)


class Bound:
    """A parser bound to a tokenizer, for any number of streams and threads."""

    def __init__(self, parser: Parser, native: _native.BoundParser) -> None:
        #: The parser.
        self.parser = parser
        self._native = native

    def start(
        self,
        *,
        tools: Tools = (),
        prompt: str = "",
        calls: Calls = "any",
        options: Mapping[str, str] | None = None,
        trim: Collection[Trimmed] | None = None,
        earlier_calls: int | None = None,
        remainder: bool = False,
    ) -> _native.Stream:
        """Starts a stream. `prompt` is what the chat template wrote of the model's turn (`add_generation_prompt`), such as
        `<|im_start|>assistant\\n<think>\\n`: without it, reasoning that the template opened is read as a message. `tools` are those of the request,
        as Chat Completions, Responses or Messages write them; without tools what looks like a call is text. `"any"` reads calls of whatever name, for
        output whose request isn't known, in formats that have a markup for calls. `trim` are the kinds of items that lose the white space at their
        ends: what the parser says (`Parser.trim`), or others, `()` for none. `earlier_calls` is the number of calls in the conversation before the
        turn: with it, ids of calls are those that the model's chat template wants (`Parser.history_call_ids`), where it wants a form. With `remainder` the stream also tells its text without the
        reasoning (`Stream.take_remainder`).

        Raises `ParserError` if the parser refuses the request.
        """
        return self._native.start_stream(_start_values(tools, prompt, calls, options, trim, earlier_calls, remainder))

    def parse(
        self,
        text: str,
        ids: Sequence[int] | None = None,
        *,
        tools: Tools = (),
        prompt: str = "",
        calls: Calls = "any",
        reason: Literal["stop", "length", "cancelled"] = "stop",
        options: Mapping[str, str] | None = None,
        trim: Collection[Trimmed] | None = None,
        earlier_calls: int | None = None,
    ) -> _native.Turn:
        """Parses a whole turn, with the ids of its tokens if there are any: without them markers are found in the text. The other arguments are
        those of `start` and `Stream.finish`. Other threads run meanwhile.

        Raises `ParserError` and `AlignmentError`.
        """
        values = _start_values(tools, prompt, calls, options, trim, earlier_calls)
        return self._native.parse_text(text, None if ids is None else list(ids), reason, values)


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
    def trim(self) -> tuple[Trimmed, ...]:
        """Kinds of items that lose the white space at their ends, unless a stream is started with others."""
        return tuple(self._native.trim)

    @property
    def history_call_ids(self) -> str | None:
        """Form that the model's chat template wants of the ids of earlier calls, such as `functions.{name}:{index}`; `None` if it takes any."""
        return self._native.history_call_ids

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

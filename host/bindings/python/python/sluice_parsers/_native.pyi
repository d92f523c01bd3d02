"""The extension: its classes are documented here, since users meet them."""

from typing import Literal, final

_Kind = Literal["reasoning", "message", "tool_call"]
_Status = Literal["in_progress", "completed", "incomplete"]
_Phase = Literal["commentary", "final"]
_End = Literal["completed", "max_output_tokens", "cancelled", "failed"]

__all__ = [
    "AlignmentError",
    "BoundParser",
    "Delta",
    "Item",
    "Parser",
    "ParserError",
    "StartValues",
    "Stream",
    "TABLE_OPTION",
    "TABLE_PARSER",
    "Turn",
    "load",
    "names",
    "test",
]

TABLE_PARSER: str
TABLE_OPTION: str

class ParserError(ValueError):
    """A parser can't be found, loaded, bound, started or tested."""

class AlignmentError(ValueError):
    """Token ids and text don't fit together. Nothing was taken: the same call may be made otherwise."""

@final
class Delta:
    """A change of one item. The first one of an item has no text, the last one has its status and no text."""

    @property
    def kind(self) -> _Kind:
        """Kind of the item."""
    @property
    def item(self) -> int:
        """Index of the item in the turn, from 0."""
    @property
    def text(self) -> str:
        """More text: of a call, its arguments."""
    @property
    def status(self) -> _Status:
        """`in_progress` until the last delta of the item."""
    @property
    def name(self) -> str | None:
        """Name of a call's tool."""
    @property
    def call_id(self) -> str | None:
        """Id of a call."""
    @property
    def phase(self) -> _Phase | None:
        """Which part of the answer a message is, where the format says."""

@final
class Item:
    """An item with all its text."""

    @property
    def kind(self) -> _Kind: ...
    @property
    def text(self) -> str: ...
    @property
    def status(self) -> Literal["completed", "incomplete"]: ...
    @property
    def name(self) -> str | None: ...
    @property
    def call_id(self) -> str | None: ...
    @property
    def phase(self) -> _Phase | None: ...

@final
class Turn:
    """A whole turn."""

    @property
    def items(self) -> list[Item]: ...
    @property
    def end(self) -> _End:
        """How it ended."""
    @property
    def failure(self) -> str | None:
        """Why it failed, for people."""
    @property
    def fault(self) -> str | None:
        """What the parser did, if it failed."""

@final
class Stream:
    """The output of one turn. It belongs to one thread at a time: a second one gets a `RuntimeError`."""

    def push(self, text: str, ids: list[int] = ...) -> list[Delta]:
        """Takes new text and the ids of the tokens that the model wrote since the last call. Text may come later than its ids, never earlier; the
        detokenizer keeps special tokens (`skip_special_tokens=False`).

        Raises `AlignmentError`, what the tokenizer's `decode` raises, and `RuntimeError` after `finish`.
        """
    def finish(self, reason: Literal["stop", "length", "cancelled"] = ..., ended_by: int | None = ...) -> list[Delta]:
        """Ends the turn: all items are closed. `ended_by` is the token that ended it, if `push` wasn't given it."""
    def take_remainder(self) -> str:
        """Takes what came since the last call of the text that is no reasoning, as the model wrote it, markup included: a second parser of the same
        format, started with the same prompt, makes the same messages and calls of it. Empty unless the stream was started with `remainder=True`."""
    @property
    def end(self) -> _End | None:
        """How the turn ended; `None` before `finish`."""
    @property
    def failure(self) -> str | None:
        """Why it failed, for people."""
    @property
    def fault(self) -> str | None:
        """What the parser did, if it failed: the text behind it is read as plain text."""
    @property
    def has_ended(self) -> bool:
        """Whether nothing that comes is part of the turn, and `finish` is due."""
    @property
    def reasoning_tokens(self) -> int:
        """Number of tokens whose first byte is reasoning."""

@final
class StartValues:
    def __new__(
        cls,
        tools: list[tuple[str, bool, str]] | None,
        prompt: str,
        calls: str,
        options: list[tuple[str, str]],
        trim: list[str] | None,
        earlier_calls: int | None,
        remainder: bool = False,
    ) -> StartValues: ...

@final
class BoundParser:
    def start_stream(self, values: StartValues) -> Stream: ...
    def parse_text(self, text: str, ids: list[int] | None, finish: str, values: StartValues) -> Turn: ...

@final
class Parser:
    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def contract(self) -> str | None: ...
    @property
    def digest(self) -> str: ...
    @property
    def models(self) -> list[str]: ...
    @property
    def markers(self) -> list[str]: ...
    @property
    def stop_markers(self) -> list[str]: ...
    @property
    def trim(self) -> list[Literal["reasoning", "message"]]: ...
    @property
    def history_call_ids(self) -> str | None: ...
    @property
    def reasoning_end(self) -> str | None: ...
    def bind_ids(self, ids: dict[str, int], decode: object) -> BoundParser: ...

def names() -> list[str]: ...
def load(wanted: str, bytes: bytes | None, options: list[tuple[str, str]], cache: str | None) -> Parser: ...
def test(wanted: str, bytes: bytes | None, cases: str, seed: int) -> str: ...
